"""The split of a course at memorisation."""

from gramian.experiments.e_gram.linearity_why import cut


def test_the_parts_share_the_first_memorised_measurement():
    course = {"epochs": [0, 5, 10, 15], "train": [0.1, 0.7, 0.995, 0.98], "linearity": [[1], [2], [3], [4]]}
    before, after = cut(course)
    assert before == {"epochs": [0, 5, 10], "train": [0.1, 0.7, 0.995], "linearity": [[1], [2], [3]]}
    assert after == {"epochs": [10, 15], "train": [0.995, 0.98], "linearity": [[3], [4]]}


def test_the_level_can_be_another():
    assert cut({"epochs": [0, 1, 2], "train": [0.1, 0.6, 1.0]}, reached=0.5)[0]["epochs"] == [0, 1]


def test_a_course_without_memorisation_is_whole():
    course = {"epochs": [0, 1], "train": [0.1, 0.5]}
    assert cut(course) == (course, {"epochs": [1], "train": [0.5]})
