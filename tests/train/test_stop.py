"""A signal asks, the second Ctrl-C does not, and afterwards all is as it was."""

import os
import signal
import threading

import pytest

from regard.train.stop import Stop


def handlers() -> tuple[object, object]:
    return signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks(number: int) -> None:
    before = handlers()
    with Stop() as stop:
        assert stop.asked is None
        os.kill(os.getpid(), number)
        assert stop.asked == number
    assert handlers() == before


def test_a_second_ctrl_c_does_not_ask() -> None:
    before = handlers()
    stop = Stop()

    def work() -> None:
        with stop:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)  # a second SIGTERM still only asks
            assert stop.asked == signal.SIGTERM
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert stop.asked == signal.SIGTERM
    assert handlers() == before


def test_elsewhere_than_in_the_main_thread_nothing_is_caught() -> None:
    before, inside = handlers(), []

    def work() -> None:
        with Stop() as stop:
            inside.append((handlers(), stop.asked))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [(before, None)]
    assert handlers() == before
