package org.kitpick.opensearch.guard;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.kitpick.opensearch.guard.CircuitBreaker.State;
import org.opensearch.test.OpenSearchTestCase;

public class CircuitBreakerTests extends OpenSearchTestCase {

  private final AtomicLong now = new AtomicLong(randomLongBetween(-1000, 1000));
  private final AtomicInteger failures = new AtomicInteger(3);
  private final CircuitBreaker breaker = new CircuitBreaker(failures::get, () -> 100, now::get);

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

  public void testItsLimitMayChangeAndItSaysWhenItOpensAndCloses() {
    failures.set(1);
    assertTrue(breaker.failed());
    assertFalse("it is open already", breaker.failed());
    assertTrue(breaker.succeeded());
    assertFalse(breaker.succeeded());
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

  public void testItIsShutWhileNothingWouldPass() {
    assertFalse(breaker.isShut());
    fail(3);
    assertTrue(breaker.isShut());
    now.addAndGet(100);
    assertFalse(breaker.isShut());
    assertTrue(breaker.tryPass());
    assertTrue(breaker.isShut());
    breaker.succeeded();
    assertFalse(breaker.isShut());
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
