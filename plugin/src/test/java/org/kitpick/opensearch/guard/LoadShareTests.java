package org.kitpick.opensearch.guard;

import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.opensearch.test.OpenSearchTestCase;

public class LoadShareTests extends OpenSearchTestCase {

  private static final long SECOND = 1_000_000_000L;
  private static final long MILLI = 1_000_000L;

  private final AtomicLong now = new AtomicLong(randomLongBetween(-SECOND, SECOND));
  private final LoadShare share = new LoadShare(now::get);

  public void testAServiceThatTakesEverythingGetsEverything() {
    for (int i = 0; i < 1_000; i++) {
      assertTrue(share.tryPass());
    }
    for (int i = 0; i < 1_000; i++) {
      share.answered();
    }
    assertEquals(0.0, share.refusal(), 0.0);
  }

  /**
   * A service with so many places, each taken for 400 ms by a search; many more searches come than
   * it has places for. Whatever comes must find it at work, and be turned away by it now and then.
   */
  public void testABusyServiceIsNeverIdleAndSeldomAskedInVain() {
    int places = randomIntBetween(1, 6);
    long service = 400 * MILLI;
    PriorityQueue<Long> busyUntil = new PriorityQueue<>();
    int answered = 0;
    int turnedAway = 0;
    int seconds = 60;
    for (long end = now.get() + seconds * SECOND; now.get() < end; now.addAndGet(4 * MILLI)) {
      while (!busyUntil.isEmpty() && busyUntil.peek() <= now.get()) {
        busyUntil.poll();
        share.answered();
        answered++;
      }
      if (!share.tryPass()) {
        continue;
      }
      if (busyUntil.size() < places) {
        busyUntil.add(now.get() + service);
      } else {
        share.busy();
        turnedAway++;
      }
    }
    double possible = places * seconds / 0.4;
    assertTrue(places + " places: " + answered, answered >= 0.9 * possible);
    assertTrue(answered + " answered, " + turnedAway + " in vain", turnedAway <= 1.2 * answered);
    assertTrue(share.refusal() > 0.8);
  }

  public void testAServiceThatOthersKeepBusyIsAskedNowAndThen() {
    int asked = 0;
    for (int i = 0; i < 1_000; i++) {
      now.addAndGet(5 * MILLI);
      if (share.tryPass()) {
        asked++;
        share.busy();
      }
    }
    assertTrue("asked " + asked + " times in five seconds", asked >= 8 && asked <= 40);
  }

  public void testARefusalLeavesRoomForThoseUnderWay() {
    assertTrue(share.tryPass());
    assertTrue(share.tryPass());
    assertTrue(share.tryPass());
    share.busy();
    assertFalse("two are with the service, and it holds two", share.tryPass());
    share.abandoned();
    for (int i = 0; i < 3; i++) {
      assertTrue(share.tryPass());
      share.answered();
    }
    assertTrue(share.tryPass());
    assertTrue("answers when all room was taken make a little more", share.tryPass());
    assertFalse(share.tryPass());
  }

  public void testWhileItIsFullOneSearchIsPreparedNowAndThen() {
    assertTrue(share.tryPass());
    assertTrue(share.isWorthPreparing());
    assertTrue(share.tryPass());
    share.busy();
    int prepared = 0;
    for (int i = 0; i < 1_000; i++) {
      now.addAndGet(MILLI);
      prepared += share.isWorthPreparing() ? 1 : 0;
    }
    assertTrue("prepared " + prepared + " in a second", prepared >= 95 && prepared <= 101);
    assertTrue("who is spared counts", share.refusal() > 0.8);
    share.abandoned();
    for (int i = 0; i < 10; i++) {
      assertTrue("there is room", share.isWorthPreparing());
    }
  }

  public void testNothingIsPreparedDuringAPause() {
    share.pause(SECOND);
    assertFalse(share.isWorthPreparing());
    now.addAndGet(SECOND);
    assertTrue(share.isWorthPreparing());
  }

  public void testARefusalOrTwoOutOfTheBlueSayNothing() {
    for (int i = 0; i < 2; i++) {
      assertTrue(share.tryPass());
      share.busy();
    }
    for (int i = 0; i < 100; i++) {
      assertTrue(share.tryPass());
    }
  }

  public void testWhatHappenedLongAgoIsForgotten() {
    assertTrue(share.tryPass());
    assertTrue(share.tryPass());
    share.busy();
    assertFalse(share.tryPass());
    assertEquals(1 / 3.0, share.refusal(), 1e-9);
    now.addAndGet(10 * SECOND);
    assertEquals(0.0, share.refusal(), 0.0);
    for (int i = 0; i < 100; i++) {
      assertTrue(share.tryPass());
    }
  }

  public void testNothingPassesDuringAPause() {
    share.pause(2 * SECOND);
    assertFalse(share.tryPass());
    now.addAndGet(2 * SECOND);
    assertTrue(share.tryPass());
  }
}
