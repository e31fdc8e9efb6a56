package org.toolrank.opensearch.guard;

import java.util.concurrent.atomic.AtomicLong;
import org.opensearch.test.OpenSearchTestCase;
import org.toolrank.opensearch.guard.CircuitBreaker.State;

public class CircuitBreakerTests extends OpenSearchTestCase {

  private final AtomicLong now = new AtomicLong(randomLongBetween(-1000, 1000));
  private final CircuitBreaker breaker = new CircuitBreaker(3, 100, now::get);

  public void testItOpensAfterFailuresInARow() {
    fail(2);
    breaker.succeeded();
    fail(2);
    assertTrue(breaker.tryPass());
    fail(1);
    assertFalse(breaker.tryPass());
    assertEquals(State.OPEN, breaker.state());
    assertEquals(1, breaker.timesOpened());
  }

  public void testAfterThePauseOneCallTries() {
    fail(3);
    now.addAndGet(99);
    assertFalse(breaker.tryPass());
    now.addAndGet(1);
    assertTrue(breaker.tryPass());
    assertEquals(State.HALF_OPEN, breaker.state());
    assertFalse(breaker.tryPass());
  }

  public void testItsSuccessClosesTheCircuit() {
    fail(3);
    now.addAndGet(100);
    assertTrue(breaker.tryPass());
    breaker.succeeded();
    assertEquals(State.CLOSED, breaker.state());
    fail(2);
    assertTrue(breaker.tryPass());
  }

  public void testItsFailureOpensItForAnotherPause() {
    fail(3);
    now.addAndGet(100);
    assertTrue(breaker.tryPass());
    breaker.failed();
    assertFalse(breaker.tryPass());
    now.addAndGet(100);
    assertTrue(breaker.tryPass());
    assertEquals(2, breaker.timesOpened());
  }

  public void testACallThatSaysNothingLetsAnotherTry() {
    fail(3);
    now.addAndGet(100);
    assertTrue(breaker.tryPass());
    breaker.abandoned();
    assertTrue(breaker.tryPass());
  }

  public void testLateFailuresDoNotProlongThePause() {
    fail(3);
    now.addAndGet(60);
    fail(5);
    now.addAndGet(40);
    assertTrue(breaker.tryPass());
  }

  private void fail(int times) {
    for (int i = 0; i < times; i++) {
      breaker.failed();
    }
  }
}
