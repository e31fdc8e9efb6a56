from __future__ import annotations

import pytest

from kitpick_engines.text import rerank_text
from kitpick_training.data.readers import READERS


@pytest.mark.parametrize(
    ("name", "documents", "least_requests"),
    [
        ("openapi", 34_128, 25_000),
        ("bfcl", 2_101, 2_501),
        ("sealtools", 4_076, 700),
        ("metatool", 199, 21_111),
        ("tldr", 6_825, 25_000),
        ("written", 21_145, 25_601),
    ],
)
def test_the_real_data_is_read_whole(shared_data, name, documents, least_requests):
    catalog = READERS[name](shared_data)
    assert len(catalog.documents) == documents
    assert len(catalog.requests) >= least_requests
    assert catalog.documents.keys() == catalog.groups.keys() == catalog.titles.keys()


@pytest.mark.needs("botocore", "google")
@pytest.mark.parametrize(
    ("name", "documents", "requests"),
    [
        pytest.param("operations", 50_000, 18_000, marks=pytest.mark.release),
        ("servers", 14_925, 7_000),
    ],
)
def test_written_requests_are_read_over_whole_tools(shared_data, name, documents, requests):
    catalog = READERS[name](shared_data)
    assert len(catalog.documents) >= documents
    assert len(catalog.requests) >= requests
    assert not catalog.judged


def test_the_question_is_not_in_the_text_that_answers_it(shared_data):
    catalog = READERS["openapi"](shared_data)
    told = sum(
        request.text.lower() in rerank_text(catalog.documents[request.relevant[0]]).lower()
        for request in catalog.requests[:3000]
    )
    assert told < 0.1 * 3000
