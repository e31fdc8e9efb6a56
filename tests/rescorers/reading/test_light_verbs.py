"""Deeds said by a noun or an idiom: the API that does them comes before others for the same thing."""

from __future__ import annotations

import pytest

from kitpick_engines.contract import Candidate
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.light_verbs import MAY_BE_LIGHT, meant_by_light_verb
from kitpick_rescorers.reading.verbs import stems_of
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Fuse

SAID = [
    ("take a snapshot of the disk", "create snapshot"),
    ("take a quick snapshot of vol-12 before the weekend", "create snapshot"),
    ("make a copy of the file", "copy object"),
    ("make me another copy of that report", "duplicate report"),
    ("do a restart of the server", "restart server"),
    ("give the machine a reboot", "reboot instance"),
    ("run a backup of the table", "create backup"),
    ("do an export of the orders", "export orders"),
    ("put the order on hold", "pause order"),
    ("put all campaigns of last week on hold", "suspend campaign"),
    ("put a stop to the job", "stop job"),
    ("give Bob access to the folder", "share folder"),
    ("let Bob in on the project", "invite member"),
    ("let the team know that lunch is at 12", "post message"),
    ("drop Anna a line", "send message"),
    ("tell Tom that I'm late", "send message"),
    ("have a look at the invoice", "get invoice"),
    ("keep an eye on the price", "watch price"),
    ("sign me up for the newsletter", "subscribe list"),
    ("give the file a new name", "rename file"),
    ("make Bob a member of the group", "add user to group"),
    ("unhook the disk from the server", "detach volume"),
    ("bring the deleted page back", "restore page"),
    ("make a few changes to the page", "update page"),
    ("leave a comment on the page", "create comment"),
    ("give the function another go", "invoke function"),
]
PLAIN = [
    "take the disk from the server",
    "make the bucket public",
    "list the snapshots",
    "delete the copy of the file",
    "get the order",
    "who has access keys",
    "do the servers run",
    "put the file into the bucket",
    "let me see the invoices",
    "keep the bucket",
    "run the function",
    "give me the list of users",
    "set the price to 12",
]


@pytest.mark.parametrize(("request_", "name"), SAID)
def test_the_deed_of_a_noun_is_told(request_: str, name: str) -> None:
    assert MAY_BE_LIGHT.search(request_)
    assert meant_by_light_verb(request_).fits(stems_of(name))
    assert not meant_by_light_verb(request_).fits(stems_of("delete thing"))


@pytest.mark.parametrize("request_", PLAIN)
def test_a_request_with_a_verb_of_its_own_has_none(request_: str) -> None:
    assert not meant_by_light_verb(request_).deeds


def first(bench, query: str, *names: str) -> str:  # type: ignore[no-untyped-def]
    found: list[Candidate] = [
        bench.candidate(name, lexical=place) for place, name in enumerate(names, start=1)
    ]
    return rescore(RescoreRequest(query, found), Profile("fused", (Fuse(),)), Models()).results[0].id


@pytest.mark.parametrize(
    ("query", "names", "right"),
    [
        (
            "take a snapshot of the disk",
            ("ec2/DescribeVolumes", "ec2/DescribeSnapshots", "ec2/CreateSnapshot"),
            2,
        ),
        ("make a copy of the snapshot", ("ec2/DescribeSnapshots", "ec2/CopyImage", "ec2/CopySnapshot"), 2),
        ("do a reboot of the instance", ("ec2/StartInstances", "ec2/RebootInstances"), 1),
        ("put the order on hold", ("shop/getOrder", "shop/pauseCampaign", "shop/pauseOrder"), 2),
        ("raise a PR against main", ("hub/repo.merge_pull_request", "hub/repo.create_pull_request"), 1),
        ("raise an urgent ticket for Bob", ("desk/assignTicket", "desk/createTicket"), 1),
        ("lodge a complaint about order 7", ("shop/listComplaints", "shop/submitComplaint"), 1),
        ("raise the limit of the order", ("shop/updateOrderLimit", "shop/createOrder"), 0),
        ("take a snapshot of the disk", ("ec2/CreateSnapshot", "ec2/CreateSnapshots"), 0),
        ("take a snapshot of the disk", ("ec2/DescribeVolumes", "ec2/AttachVolume"), 0),
    ],
)
def test_what_does_it_comes_first(bench, query: str, names: tuple[str, ...], right: int) -> None:  # type: ignore[no-untyped-def]
    assert first(bench, query, *names) == names[right]
