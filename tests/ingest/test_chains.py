"""What an API needs and gives, read from schemas, names and prose."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick_engines.document import ApiDocument, Effect, Parameter, Thing, decode_document, encode_document
from kitpick_ingest import chains
from kitpick_ingest.chains import MAX_FIELDS, MAX_GIVES, MAX_NEEDS, Shape, answer_fields, with_chains
from kitpick_ingest.json_schema import schema_fields
from kitpick_ingest.json_values import JsonObject
from kitpick_ingest.references import References
from kitpick_ingest.sources.openapi import OpenApiSource


def api(name: str, *required: str, description: str = "", effect: Effect = Effect.UNKNOWN) -> ApiDocument:
    parameters = tuple(Parameter(each, required=True) for each in required)
    return ApiDocument("s/t/a", "s", "", "t", name, description, parameters, effect=effect)


def needed(document: ApiDocument) -> dict[str, str]:
    things = [Thing.read(text) for text in document.needs]
    return {thing.input: f"{thing.resource}.{thing.role}" for thing in things if thing}


def given(document: ApiDocument) -> set[str]:
    things = [Thing.read(text) for text in document.gives]
    return {f"{thing.resource}.{thing.role}" for thing in things if thing}


@pytest.mark.parametrize(
    ("name", "need"),
    [
        ("artist_id", "artist.id"),
        ("InstanceIds", "instance.id"),
        ("DBInstanceIdentifier", "db instance.id"),
        ("roleArn", "role.arn"),
        ("target_folder_id", "folder.id"),
        ("QueueUrls", "queue.url"),
        ("policyIds", "policy.id"),
        ("clientToken", ""),
        ("request_id", ""),
        ("pageSize", ""),
    ],
)
def test_names_are_normalised_to_resource_and_role(name: str, need: str) -> None:
    document = with_chains(api("Do", name), ())
    assert needed(document) == ({name: need} if need else {})


def test_parameters_of_a_path_are_identifiers_whatever_they_are_called() -> None:
    document = with_chains(api("concerts", "id", "month"), (), "/artists/{id}/tours/{tour}/concerts")
    assert needed(document) == {"id": "artist.id", "tour": "tour.id"} | {"month": "month."}


@pytest.mark.parametrize(
    ("path", "input", "need"),
    [
        ("/lists/{list_id}/tags", "list_id", "list.id"),
        ("/oauth-clients/{clientId}/reset", "clientId", "oauth client.id"),
        ("/dataset/{pk}/refresh", "pk", "dataset.id"),
        ("/tasks/{task_gid}/subtasks", "task_gid", "task.id"),
        ("/commits/{sha}/diff", "sha", "commit.id"),
    ],
)
def test_in_a_path_lists_and_clients_are_resources_like_others(path: str, input: str, need: str) -> None:  # noqa: A002
    assert needed(with_chains(api("do", input), (), path)) == {input: need}


def test_a_collection_gives_what_its_path_is_called() -> None:
    listing = api("getLists", effect=Effect.READ)
    assert given(with_chains(listing, None, "/lists")) == {"list."}
    queries = schema_fields({"properties": {"queries": {"items": {"properties": {"queryId": {}}}}}})
    assert given(with_chains(api("bids.queries.list"), queries)) == {"query.id"}


def test_what_acts_on_something_needs_its_id_though_it_is_optional() -> None:
    group = Parameter("GroupId"), Parameter("VpcId")
    acting = replace(api("AuthorizeSecurityGroupIngress", effect=Effect.WRITE), parameters=group)
    assert needed(with_chains(acting, ())) == {"GroupId": "security group.id"}
    looking = replace(api("DescribeSecurityGroupRules", effect=Effect.READ), parameters=group)
    assert needed(with_chains(looking, ())) == {}


def test_a_search_gives_what_its_first_sentence_with_a_name_says_is_searched() -> None:
    search = api("search", "q", effect=Effect.READ)
    prose = "Search for an item. Get information about albums or tracks that match words. Only in markets."
    assert given(with_chains(replace(search, description=prose))) == {"album.", "track."}
    prose = "Full-text search on episodes, podcasts, or lists of podcasts."
    assert given(with_chains(replace(search, description=prose), None, "/search")) == {"episode.", "podcast."}
    assert given(with_chains(replace(search, api="companySearch"), None, "/company/fuzzysearch")) == {
        "company."
    }


def test_patterns_say_what_a_name_is_the_name_of() -> None:
    document = api("pubsub.projects.topics.publish", "topic")
    assert needed(with_chains(document, (), patterns=[("topic", "^projects/[^/]+/topics/[^/]+$")])) == {
        "topic": "topic.name"
    }
    assert not with_chains(document, (), patterns=[("topic", "^projects/[^/]+$")]).needs, "everybody knows it"


def test_who_makes_a_thing_does_not_need_it() -> None:
    assert needed(with_chains(api("CreateBucket", "BucketName"), ())) == {}
    assert needed(with_chains(api("DeleteBucket", "BucketName"), ())) == {"BucketName": "bucket.name"}


def test_answers_give_what_they_are_about_and_what_they_embed() -> None:
    artist = {"type": "object", "properties": {"id": {"type": "string"}, "genre_id": {"type": "string"}}}
    schema = {
        "properties": {"artists": {"type": "array", "items": {"$ref": "#/$defs/Artist"}}, "next_page": {}},
        "$defs": {"Artist": artist},
    }
    document = with_chains(api("searchArtists"), schema_fields(schema))
    assert document.gives == ("artist.id~9", "genre.id~7")


@pytest.mark.parametrize("shared", [False, True])
def test_links_of_openapi_are_the_surest(tmp_path: Path, shared: bool) -> None:
    link = {"operationId": "concerts", "parameters": {"artistId": "$response.body#/x"}}
    of = {"$ref": "#/components/links/of"} if shared else link
    response = {"description": "", "links": {"of": of}, "content": {"application/json": {"schema": {}}}}
    spec = {
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"responses": {"200": response}}}},
        "components": {"links": {"of": link}},
    }
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec))
    (document,) = OpenApiSource(path, "s").read()
    assert isinstance(document, ApiDocument)
    assert "artist.id~10" in document.gives


def test_without_schemas_names_and_words_are_guessed_from() -> None:
    assert given(with_chains(api("get_country_code"))) == {"country.code"}
    search = api("search", description="Finds artists, albums or podcasts.", effect=Effect.READ)
    assert given(with_chains(search)) == {"artist.", "album.", "podcast."}
    confident = [Thing.read(text) for text in with_chains(search).gives]
    assert all(thing and thing.confidence < 0.5 for thing in confident)


def test_who_lets_somebody_in_gives_a_session() -> None:
    for name in ("delta_user_login", "signIn", "authenticate"):
        assert {"session.id", "token.", "access token."} <= given(with_chains(api(name, "email", "password")))
    assert "session.id" not in given(with_chains(api("login"), ())), "its answer is described"
    assert not given(with_chains(api("get_blog_info"))) & {"session.id"}


def test_a_product_may_be_named_before_the_verb() -> None:
    assert given(with_chains(api("yummly_get_recipe", "recipe_name"))) == {"recipe."}
    assert not given(with_chains(api("yummly_delete_recipe", "recipe_name")))


@pytest.mark.parametrize(
    "name", ["get_list_of_sheets", "getAvailableSheets", "list_all_supported_sheets", "get_sheets"]
)
def test_words_that_only_say_which_are_no_part_of_what_is_given(name: str) -> None:
    assert given(with_chains(api(name))) == {"sheet."}


def test_a_year_is_of_the_date() -> None:
    assert needed(with_chains(api("get_rent", "year"))) == {"year": "date."}
    assert given(with_chains(api("get_current_date"))) == {"date."}


def test_a_schema_that_holds_itself_ends() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Folder",
        "$defs": {
            "Folder": {
                "properties": {
                    "folder_id": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Folder"}},
                    "parent": {"$ref": "#/$defs/Folder"},
                }
            }
        },
    }
    assert given(with_chains(api("getTree"), schema_fields(schema))) == {"folder.id"}


def test_of_ten_thousand_required_parameters_the_first_two_hundred_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    need = chains._need
    monkeypatch.setattr(chains, "_need", lambda given, *rest: read.append(given.name) or need(given, *rest))
    document = with_chains(api("Do", *(f"thing{n}_id" for n in range(10_000))), ())
    assert len(document.needs) == MAX_NEEDS
    assert read == [f"thing{n}_id" for n in range(200)]


class CountedReferences(References):
    """References that count how often one is resolved."""

    resolved = 0

    def resolve(self, schema: JsonObject) -> JsonObject:
        self.resolved += 1
        return super().resolve(schema)


def entangled(schemas: int, *, by: str) -> CountedReferences:
    """A document of so many schemas, each of which refers to every one of them, itself included."""
    everything = [{"$ref": f"#/$defs/S{n}"} for n in range(schemas)]
    inside = {
        "properties": lambda n: {"properties": {f"s{m}": each for m, each in enumerate(everything)}},
        "items": lambda n: {"type": "array", "items": everything[(n + 1) % schemas]},
        "anyOf": lambda n: {"anyOf": everything, "properties": {f"thing{n}_id": {}}},
        "allOf": lambda n: {"allOf": everything, "properties": {f"thing{n}_id": everything[n]}},
    }[by]
    return CountedReferences({"$defs": {f"S{n}": inside(n) for n in range(schemas)}})


@pytest.mark.parametrize("by", ["properties", "items", "anyOf", "allOf"])
def test_schemas_that_all_refer_to_one_another_cost_as_much_in_any_number(by: str) -> None:
    """Followed to the end, the work would grow with the square of their number."""
    work = []
    for schemas in (80, 120):
        references = entangled(schemas, by=by)
        document = with_chains(api("getTree"), schema_fields({"$ref": "#/$defs/S0"}, references))
        assert len(document.gives) <= MAX_GIVES
        work.append(references.resolved)
    assert work[0] == work[1] < 150_000


@pytest.mark.parametrize(
    ("prose", "named"),
    [
        ("Exact id of the module, retrieved from searchModules (`a/b/1`).", "searchModules"),
        ("Library id, as returned by 'resolve-library-id'.", "resolve-library-id"),
        ("Id of a coin. Use search_assets to find exact ids.", "search_assets"),
        ("Must be obtained first using the list_files command.", "list_files"),
        ("The hashed name, generated by the hash_string dependency.", "hash_string"),
        ("Only entries created_at or later, from page_token on.", ""),
        ("Do not use list_nodes here.", ""),
        ("As described in RFC 3986, from a read-only file.", ""),
    ],
)
def test_an_input_comes_from_the_call_that_its_description_names(prose: str, named: str) -> None:
    """Checked on 14,925 tools of MCP servers; of the 55 links there, 4 are wrong."""
    document = replace(api("fetch"), parameters=(Parameter("ref", required=True, description=prose),))
    calls = [text for text in with_chains(document).needs if ".call~" in text]
    assert calls == ([f"ref={named}.call~7"] if named else [])
    assert not [text for text in with_chains(document, ()).needs if ".call~" in text], "schemas say it"


@pytest.mark.parametrize(
    ("prose", "named"),
    [
        (
            "Sends a form. If you have no id yet, list all forms using the list-forms tool first.",
            "list-forms",
        ),
        ("You must call 'resolveDocID' first to obtain the id.", "resolveDocID"),
        ("For links you must first use convert_wiki to obtain an id.", "convert_wiki"),
        ("Use list_pages for many pages. First of all, read the manual.", ""),
        ("Use common sense first.", ""),
    ],
)
def test_what_is_to_be_called_first_is_needed(prose: str, named: str) -> None:
    document = with_chains(api("fetch", description=prose))
    assert document.needs == ((f"{named}.call~7",) if named else ())


def test_of_a_description_full_of_names_a_few_are_taken() -> None:
    prose = " ".join(f"Call get_thing{n} first." for n in range(10_000))
    inputs = tuple(Parameter(f"x{n}", required=True, description=prose) for n in range(1_000))
    assert len(with_chains(replace(api("do", description=prose), parameters=inputs)).needs) <= MAX_NEEDS


@pytest.mark.parametrize("name", ["id", "name", "ids", "key"])
def test_an_id_or_name_of_nothing_in_particular_links_nothing(name: str) -> None:
    """In every API, all would need all the others."""
    answer = schema_fields({"properties": {name: {}, "data": {"properties": {name: {}}}}})
    document = with_chains(api("get", name), answer)
    assert document.gives == document.needs == ()


@pytest.mark.parametrize(
    ("name", "fields", "gives"),
    [
        ("ListDomainNames", {"DomainNames": {"items": {"properties": {"DomainName": {}}}}}, {"domain.name"}),
        ("list", {"responsePolicies": {"items": {"properties": {"id": {}}}}}, {"response policy.id"}),
        ("ListAliases", {"Aliases": {"items": {"properties": {"AliasName": {}}}}}, {"alias.name"}),
        ("ListClusters", {"clusters": {"items": {"type": "string"}}}, {"cluster."}),
        ("GetPipe", {"name": {}, "roleArn": {}, "kmsKeyId": {}}, {"pipe.name"}),
        ("ListRoles", {"roles": {"items": {"properties": {"arn": {}}}}}, {"role.arn"}),
    ],
    ids=["names", "two words", "aliases", "plain values", "what it uses", "roles themselves"],
)
def test_fields_are_of_what_holds_them(name: str, fields: dict[str, Any], gives: set[str]) -> None:
    assert given(with_chains(api(name), schema_fields({"properties": fields}))) == gives


def test_an_answer_that_is_an_operation_names_the_operation_only() -> None:
    shapes = {"": Shape("Operation", [("name", "x")], 0), "x": Shape("", [], 1)}
    started = with_chains(api("shell.environments.start"), answer_fields("", shapes.__getitem__))
    assert given(started) == {"operation.name"}


def test_whoever_names_a_part_has_the_name_of_the_whole() -> None:
    document = api("fb.projects.apps.getTestConfig", "name")
    about_app = with_chains(
        document,
        schema_fields({"properties": {"name": {}, "appName": {}}}),
        patterns=[("name", "^projects/[^/]+/apps/[^/]+/testConfig$")],
    )
    assert "app.name" not in given(about_app)


def test_a_pattern_of_anything_says_no_resource() -> None:
    document = with_chains(
        api("ads.advertisers.get", "id"), (), "/advertisers/{id}", patterns=[("id", "^[^/]+$")]
    )
    assert needed(document) == {"id": "advertiser.id"}


def test_a_bare_name_is_that_of_what_the_api_is_about() -> None:
    assert needed(with_chains(api("GetPipeline", "name"), ())) == {"name": "pipeline.name"}
    assert needed(with_chains(api("CreatePipeline", "name"), ())) == {}
    assert needed(with_chains(api("CreateGraphSnapshot", "snapshotName"), ())) == {}


def test_what_is_in_the_path_of_a_call_that_makes_nothing_is_there_already() -> None:
    ran = api("script.scripts.run", "scriptId", effect=Effect.WRITE)
    assert needed(with_chains(ran, None, "/v1/scripts/{scriptId}:run")) == {"scriptId": "script.id"}


def test_the_keys_of_tags_are_the_callers() -> None:
    assert needed(with_chains(api("UntagResources", "TagKeys"), ())) == {}


def test_prose_says_what_is_listed_and_not_what_for() -> None:
    listing = api("podcasts", description="The categories that can filter podcasts.", effect=Effect.READ)
    assert given(with_chains(listing)) == {"podcast.", "category."}
    assert given(with_chains(replace(listing, api="index"))) == {"index.", "category."}


def test_a_wide_answer_is_looked_at_in_part() -> None:
    looked = 0

    def shape_of(name: str) -> Shape[str]:
        nonlocal looked
        looked += 1
        return Shape(name, [(f"{name}x{n}_id", name + "x") for n in range(1_000)], name)

    document = with_chains(api("Do"), answer_fields("", shape_of))
    assert looked <= MAX_FIELDS + 1
    assert len(document.gives) <= MAX_GIVES


def test_bare_ids_and_names_of_nothing_are_no_things() -> None:
    document = with_chains(
        api("get", "id", "name", "key"), schema_fields({"properties": {"id": {}, "name": {}}})
    )
    assert document.needs == document.gives == ()


def test_any_names_give_bounded_things_that_can_be_read_again() -> None:
    """Property: whatever the names, needs and gives are few, short, readable, and the document survives."""
    chance = random.Random(0)
    alphabet = string.ascii_letters + string.digits + " _-./{}=~é漢\t"
    for _ in range(500):
        names = ["".join(chance.choices(alphabet, k=chance.randint(0, 200))) for _ in range(12)]
        schema = {"properties": {name: {"properties": {"id": {}, names[0]: {}}} for name in names[6:]}}
        answer = schema_fields(schema) if chance.random() < 0.7 else None
        path = "/".join(f"{{{name}}}" if chance.random() < 0.5 else name for name in names[:4])
        document = with_chains(
            api(names[5] or "x", *names[:5]), answer, path, [(names[0], names[1])], names[:2]
        )
        assert len(document.needs) <= MAX_NEEDS
        assert len(document.gives) <= MAX_GIVES
        for text in (*document.needs, *document.gives):
            thing = Thing.read(text)
            assert thing is not None, text
            assert thing.text == text
            assert len(text) < 300
        assert decode_document(encode_document(document)) == document


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b~", "a.b~11", "a.b~x", ".b~3", "=~5"])
def test_text_that_is_no_thing_is_none(text: str) -> None:
    assert Thing.read(text) is None


def test_a_document_without_needs_is_stored_as_before() -> None:
    assert b"needs" not in encode_document(api("do"))
