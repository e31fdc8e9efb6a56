"""The rules above the models: what is named comes first, what is ruled out last, whatever the profile."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Place
from kitpick_engines.document import Effect
from kitpick_rescorers.errors import InvalidRequest
from kitpick_rescorers.explain import explain
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Abstain, CrossEncode, Enough, Fuse

FUSED = Profile("fused", (Fuse(),))


def ranked(bench, names: Sequence[str], **more: object) -> list[Candidate]:  # type: ignore[no-untyped-def]
    return [bench.candidate(name, lexical=rank, **more) for rank, name in enumerate(names, start=1)]


def answer(query: str, candidates: Sequence[Candidate], profile: Profile = FUSED, **more: object) -> Rescored:
    return rescore(RescoreRequest(query, candidates, **more), profile, Models())


def ids(found: Rescored) -> list[str]:
    return [hit.id for hit in found.results]


S3 = ("s3/PutObject", "s3/PutObjectAcl", "s3/GetObject", "s3/ListObjectsV2", "s3/ListObjects")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("PutObjectAcl", "s3/PutObjectAcl"),
        ("put object acl", "s3/PutObjectAcl"),
        ("which inputs does `list_objects` take", "s3/ListObjects"),
        ("s3.ListObjectsV2", "s3/ListObjectsV2"),
    ],
)
def test_what_is_named_comes_first_and_the_others_keep_their_order(bench, query: str, first: str) -> None:  # type: ignore[no-untyped-def]
    found = answer(query, ranked(bench, S3))
    assert ids(found) == [first, *(key for key in S3 if key != first)]
    assert any(reason.startswith("reading: its name is asked for") for reason in found.results[0].reasons)


def test_a_name_is_found_with_a_version_behind_it(bench) -> None:  # type: ignore[no-untyped-def]
    found = answer("list objects, version 1", ranked(bench, ("s3/ListObjectVersions", *S3)))
    assert ids(found)[0] == "s3/ListObjects"


def test_a_number_of_any_length_is_no_version(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("s3/ListObjectsV" + "9" * 5_000, "s3/ListObjectsV2")
    assert ids(answer("show the objects by version 2", ranked(bench, names)))[0] == "s3/ListObjectsV2"


def test_a_name_beats_the_model_and_its_verdict(bench) -> None:  # type: ignore[no-untyped-def]
    logits = {name: -9.0 + place for place, name in enumerate(reversed(S3))}
    models = Models(scorer=bench.scorer(logits), cache=ScoreCache())
    profile = Profile("p", (Fuse(), CrossEncode(), Abstain(threshold=0.5)))
    found = rescore(RescoreRequest("ListObjects", ranked(bench, S3)), profile, models)
    assert ids(found)[0] == "s3/ListObjects"
    assert not found.abstained
    assert found.results[0].probability == 1.0
    plain = rescore(RescoreRequest("something else", ranked(bench, S3)), profile, models)
    assert plain.abstained


def test_what_a_stage_dropped_comes_back_when_it_is_named_and_is_explained(bench) -> None:  # type: ignore[no-untyped-def]
    hidden = replace(bench.candidate("s3/Invoke"), intent=Place(1, 1.0))
    found = answer("Invoke", [*ranked(bench, S3), hidden])
    assert ids(found)[0] == "s3/Invoke"
    assert explain(found.trace, ids(found)).hits[0].steps[-1].stage == "reading"


def test_only_candidates_come_first_and_only_so_many(bench) -> None:  # type: ignore[no-untyped-def]
    found = answer("x y", ranked(bench, S3), placed_first={"elsewhere": "why", "s3/GetObject": "chosen"})
    assert ids(found)[0] == "s3/GetObject"
    assert "elsewhere" not in ids(found)
    with pytest.raises(InvalidRequest):
        answer("x", ranked(bench, S3), placed_first={str(n): "" for n in range(101)})


def test_a_finished_list_is_cut_behind_the_rules(bench) -> None:  # type: ignore[no-untyped-def]
    logits = {name: 5.0 - 4 * place for place, name in enumerate(S3)}
    profile = Profile("p", (Fuse(), CrossEncode(), Enough(completeness=0.3)))
    found = rescore(
        RescoreRequest("ListObjects", ranked(bench, S3)), profile, Models(scorer=bench.scorer(logits))
    )
    assert ids(found) == ["s3/ListObjects"]


@pytest.mark.parametrize(
    ("query", "names", "first"),
    [
        (
            "stop the servers but do not terminate them",
            ("c/TerminateInstances", "c/StopInstances"),
            "c/StopInstances",
        ),
        ("enable mfa, do not disable it", ("u/disable_mfa", "u/enable_mfa"), "u/enable_mfa"),
        ("delete one message, no batch", ("q/DeleteMessageBatch", "q/DeleteMessage"), "q/DeleteMessage"),
        ("archive the room rather than removing it", ("r/deleteRoom", "r/archiveRoom"), "r/archiveRoom"),
        ("save a draft, don't send it", ("m/send_mail", "m/create_draft"), "m/create_draft"),
        ("list objects, not v2", ("s/ListObjectsV2", "s/ListObjects"), "s/ListObjects"),
        (
            "take the tag off, do not delete the bucket",
            ("s/DeleteBucket", "s/DeleteBucketTag"),
            "s/DeleteBucketTag",
        ),
        ("empty the queue but don't delete it", ("q/DeleteQueue", "q/PurgeQueue"), "q/PurgeQueue"),
        ("delete one object, not several objects", ("s/DeleteObjects", "s/DeleteObject"), "s/DeleteObject"),
        ("which checks are there? delete none", ("r/DeleteCheck", "r/ListChecks"), "r/ListChecks"),
        ("what is the answer? change no record", ("r/ChangeRecord", "r/TestAnswer"), "r/TestAnswer"),
        (
            "remove the file a.txt from the bucket, not the bucket",
            ("s/DeleteBucket", "s/DeleteObject"),
            "s/DeleteObject",
        ),
        ("dim the light, don't turn it off", ("h/turn_off_light", "h/dim_light"), "h/dim_light"),
    ],
)
def test_what_the_request_rules_out_comes_last(bench, query: str, names: tuple[str, ...], first: str) -> None:  # type: ignore[no-untyped-def]
    found = answer(query, ranked(bench, [*names, "x/other"]))
    assert ids(found)[0] == first
    assert ids(found)[-1] == names[0]
    assert "reading: does what the request rules out" in found.results[-1].reasons
    assert "ruled out" in found.trace[-1].note


def test_the_same_without_what_is_ruled_out_is_preferred(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("mail/send_message", "queue/SendMessageBatch", "queue/SendMessage")
    assert ids(answer("send a message but not as a batch", ranked(bench, names)))[0] == "queue/SendMessage"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create a contact with version 1 of the call", "crm/create_contact"),
        ("create a contact, v2", "crm/create_contact_v2"),
        ("create a contact with v3", "crm/create_contact_v3"),
    ],
)
def test_the_version_that_is_asked_for_comes_before_its_siblings(bench, query: str, first: str) -> None:  # type: ignore[no-untyped-def]
    names = ("crm/create_contact_v2", "crm/create_contact_v3", "crm/create_contact", "crm/delete_contact")
    assert ids(answer(query, ranked(bench, names)))[0] == first


def test_what_destroys_does_not_stand_first_unasked(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("shop/deleteOrder", "shop/getOrder", "shop/listUsers")
    found = answer("show me the order 12", ranked(bench, names))
    assert ids(found)[0] == "shop/getOrder"
    assert ids(answer("get rid of the order 12", ranked(bench, names)))[0] == "shop/deleteOrder"
    assert ids(answer("cancel the order 12", ranked(bench, names)))[0] == "shop/deleteOrder"
    alone = answer("show me the order 12", ranked(bench, names[:1]))
    assert alone.results[0].reasons[-1].startswith("reading: ends something")


def test_to_remove_a_thing_from_another_is_not_to_end_it(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("i/RemoveUserFromGroup", "i/DeleteGroup", "i/AddUserToGroup")
    found = answer("take the user out of the group; don't delete the user", ranked(bench, names))
    assert ids(found)[0] == names[0]


def test_to_remove_from_a_thing_that_stays_is_not_ruled_out(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("s/remove_from_cart", "s/add_to_cart")
    found = answer("drop the second lamp from the cart, but keep the cart", ranked(bench, names))
    assert ids(found) == list(names)


@pytest.mark.parametrize(
    ("query", "names", "first"),
    [
        ("switch mfa on, not off", ("u/disable_mfa", "u/enable_mfa"), "u/enable_mfa"),
        ("switch it on, not off", ("u/disable_mfa", "u/enable_mfa"), "u/enable_mfa"),
        ("bring the stopped instance back up", ("c/StopInstance", "c/StartInstance"), "c/StartInstance"),
        ("save the dashboard", ("d/GetDashboard", "d/PutDashboard"), "d/PutDashboard"),
        ("which topics are there?", ("s/UpdateTopic", "s/ListTopics"), "s/ListTopics"),
        ("detach the policy", ("i/DeletePolicy", "i/DetachPolicy"), "i/DetachPolicy"),
        ("lights out in the kitchen", ("h/turn_on_light", "h/turn_off_light"), "h/turn_off_light"),
        ("turn off the light", ("h/turn_on_light", "h/turn_off_light"), "h/turn_off_light"),
        ("we are leaving, alarm on", ("h/disarm_alarm", "h/arm_alarm"), "h/arm_alarm"),
        (
            "undo the approval of the timesheet",
            ("t/approve-timesheet", "t/revert-timesheet"),
            "t/revert-timesheet",
        ),
        ("I have milk, cross it off", ("l/add_to_list", "l/remove_from_list"), "l/remove_from_list"),
        ("end the downtime now", ("m/schedule_downtime", "m/cancel_downtime"), "m/cancel_downtime"),
        ("remove following from the artist", ("m/unfollowArtist", "m/followArtist"), "m/unfollowArtist"),
    ],
)
def test_the_verb_decides_between_two_that_are_about_one_thing(  # type: ignore[no-untyped-def]
    bench, query: str, names: tuple[str, ...], first: str
) -> None:
    assert ids(answer(query, ranked(bench, names)))[0] == first


def test_a_name_with_more_of_what_is_wanted_stays_though_it_holds_a_thing_that_is_ruled_out(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("l/RemoveLayerVersionPermission", "l/RemovePermission", "l/DeleteLayerVersion")
    assert (
        ids(answer("remove the layer permission, not the layer version", ranked(bench, names)))[0] == names[0]
    )


def test_a_name_that_only_sounds_like_it_destroys_does_not_lose(bench) -> None:  # type: ignore[no-untyped-def]
    candidates = [
        replace(each, effect=Effect.WRITE) for each in ranked(bench, ("a/setDropoff", "a/getDropoff"))
    ]
    assert ids(answer("set the drop-off point", candidates))[0] == "a/setDropoff"


@pytest.mark.parametrize("profile", ["kitpick", "hybrid", "bm25"])
def test_a_plain_request_has_no_trace_of_the_rules(bench, profile: str) -> None:  # type: ignore[no-untyped-def]
    found = answer("show the weather of tomorrow", ranked(bench, S3), load_profile(profile))
    assert all(entry.stage != "reading" for entry in found.trace)


def test_what_was_called_already_comes_behind_the_head(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("shop/createOrder", "shop/cancelOrder", "shop/getOrder")
    found = answer("and now cancel it", ranked(bench, names), used=("shop_createOrder",))
    assert ids(found) == ["shop/cancelOrder", "shop/getOrder", "shop/createOrder"]
    assert "reading: was called already, and is not asked for again" in found.results[-1].reasons
    assert ids(answer("and now cancel it", ranked(bench, names)))[1] == "shop/createOrder"
    with pytest.raises(InvalidRequest):
        answer("x", ranked(bench, names), used=("f",) * 51)


BUCKETS = ("s3/DeleteBucketLifecycle", "s3/DeleteObject", "s3/DeleteBucket")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("delete the bucket", "s3/DeleteBucket"),
        ("remove the old bucket", "s3/DeleteBucket"),
        ("eliminar el bucket viejo", "s3/DeleteBucket"),
        ("delete the bucket of s3", "s3/DeleteBucket"),
        ("delete what the bucket expires by", "s3/DeleteBucketLifecycle"),
        ("delete the bucket policy", "s3/DeleteBucketLifecycle"),
        ("l'objet 12 du bucket est à supprimer dès demain", "s3/DeleteBucketLifecycle"),
    ],
)
def test_what_a_request_says_and_no_more_comes_first(bench, query: str, first: str) -> None:  # type: ignore[no-untyped-def]
    assert ids(answer(query, ranked(bench, BUCKETS)))[0] == first


THINGS = ("All", "Old", "Few", "Many", "Big", "Own", "New", "Red")


@pytest.mark.parametrize(
    ("query", "used"),
    [
        ("list the objects, but do not delete objects", ()),
        ("list the objects", tuple(f"s3_Delete{thing}Objects" for thing in THINGS)),
    ],
)
def test_reasons_stand_in_the_order_of_the_list(bench, query: str, used: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    """A trace of one process is that of another, to the last byte."""
    names = [f"s3/Delete{thing}Objects" for thing in THINGS]
    found = answer(query, ranked(bench, ["s3/ListObjects", *names]), used=used)
    reasons = [name for name in found.trace[-1].reasons if name in names]
    assert reasons == names == ids(found)[1:]
