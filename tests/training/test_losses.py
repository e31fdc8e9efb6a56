from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from kitpick_training.losses import (  # noqa: E402
    contrastive_loss,
    graded_loss,
    list_loss,
    listwise_loss,
    margin_mse,
    pointwise_loss,
    teacher_order,
)


def test_one_right_text_among_equals_costs_the_logarithm_of_their_number():
    relevant = torch.tensor([True, False, False, False])
    assert float(listwise_loss(torch.zeros(4), relevant)) == pytest.approx(math.log(4))


def test_several_right_texts_cost_least_when_they_share_the_weight():
    relevant = torch.tensor([True, True, False])
    even = listwise_loss(torch.tensor([5.0, 5.0, -5.0]), relevant)
    uneven = listwise_loss(torch.tensor([9.0, 1.0, -5.0]), relevant)
    assert float(even) == pytest.approx(math.log(2), abs=1e-3)
    assert even < uneven


def test_a_list_without_an_answer_pulls_every_score_down():
    scores = torch.zeros(3, requires_grad=True)
    loss = list_loss(scores, torch.tensor([False, False, False]), 0.2)
    loss.backward()
    assert torch.isfinite(loss)
    assert (scores.grad > 0).all()


def test_both_losses_are_added_with_their_weight():
    scores, relevant = torch.tensor([1.0, -1.0]), torch.tensor([True, False])
    expected = listwise_loss(scores, relevant) + 0.2 * pointwise_loss(scores, relevant)
    assert torch.equal(list_loss(scores, relevant, 0.2), expected)


def test_right_texts_compete_with_wrong_ones_but_not_with_each_other():
    scores = torch.tensor([[2.0, 1.0, 0.0]])
    two = contrastive_loss(scores, torch.tensor([[True, True, False]]))
    expected = [math.log(1 + math.exp(-2.0)), math.log(1 + math.exp(-1.0))]
    assert float(two) == pytest.approx(sum(expected) / 2)


def test_a_request_without_a_right_text_counts_nothing():
    scores = torch.tensor([[2.0, 1.0], [5.0, 7.0]])
    alone = contrastive_loss(scores[:1], torch.tensor([[True, False]]))
    both = contrastive_loss(scores, torch.tensor([[True, False], [False, False]]))
    assert float(alone) == pytest.approx(float(both))


@pytest.mark.parametrize("relevant", [[True, False], [True, True], [False, False]])
def test_every_loss_is_finite_for_every_list(relevant):
    scores = torch.tensor([0.5, -0.5], requires_grad=True)
    list_loss(scores, torch.tensor(relevant), 0.2).backward()
    assert torch.isfinite(scores.grad).all()


def test_a_student_with_the_teacher_s_margins_has_nothing_to_learn():
    teacher = torch.tensor([4.0, 1.0, -2.0])
    assert float(margin_mse(teacher + 7, teacher)) == pytest.approx(0, abs=1e-9)
    assert float(margin_mse(torch.zeros(2), torch.tensor([1.0, -1.0]))) == pytest.approx(2.0)


def test_a_student_is_asked_for_the_teacher_s_order_alone():
    teacher = torch.tensor([4.0, 1.0, -2.0])
    same, reverse = teacher_order(teacher * 9, teacher), teacher_order(-teacher * 9, teacher)
    assert float(same) < 1e-3
    assert same < reverse


def test_texts_that_the_teacher_holds_for_equal_are_in_no_order():
    grades = torch.tensor([2.0, 0.0, 0.0])
    scores = torch.tensor([1.0, 5.0, -5.0])
    by_hand = [math.log(1 + math.exp(other - 1.0)) for other in (5.0, -5.0)]
    assert float(teacher_order(scores, grades)) == pytest.approx(sum(by_hand) / 2)
    all_equal = torch.tensor([1.0, 2.0], requires_grad=True)
    teacher_order(all_equal, torch.zeros(2)).backward()
    assert all_equal.grad.tolist() == [0.0, 0.0]


def test_grades_count_beside_the_absolute_scale():
    scores, grades, relevant = (
        torch.tensor([1.0, 0.0]),
        torch.tensor([0.0, -1.0]),
        torch.tensor([True, False]),
    )
    expected = teacher_order(scores, grades) + 0.2 * pointwise_loss(scores, relevant)
    assert torch.equal(graded_loss(scores, grades, relevant, 0.2), expected)
