package org.kitpick.opensearch.guard;

import java.util.concurrent.atomic.AtomicLong;
import org.opensearch.test.OpenSearchTestCase;

public class LoadShareTests extends OpenSearchTestCase {

  private static final long SECOND = 1_000_000_000L;

  private final AtomicLong now = new AtomicLong(randomLongBetween(-SECOND, SECOND));
  private final LoadShare share = new LoadShare(now::get, () -> random().nextDouble());

  public void testAServiceThatTakesEverythingGetsEverything() {
    for (int i = 0; i < 1_000; i++) {
      now.addAndGet(SECOND / 100);
      assertTrue(share.tryPass());
    }
    assertEquals(0.0, share.refusal(), 0.0);
  }

  public void testABusyServiceGetsAboutHalfAsMuchAgainAsItTakes() {
    double capacity = randomDoubleBetween(0.1, 0.6, true);
    int sent = 0;
    int taken = 0;
    for (int i = 0; i < 20_000; i++) {
      now.addAndGet(SECOND / 1_000);
      if (!share.tryPass()) {
        continue;
      }
      sent++;
      if (taken < capacity * (i + 1)) {
        taken++;
      } else {
        share.busy();
      }
    }
    assertTrue("took " + taken, taken >= 0.9 * capacity * 20_000);
    assertTrue("sent " + sent + ", took " + taken, sent <= 1.6 * taken + 100);
  }

  public void testWhatHappenedLongAgoIsForgotten() {
    for (int i = 0; i < 50; i++) {
      if (share.tryPass()) {
        share.busy();
      }
    }
    assertTrue(share.refusal() > 0.8);
    now.addAndGet(10 * SECOND);
    assertEquals(0.0, share.refusal(), 0.0);
    assertTrue(share.tryPass());
  }

  public void testOneRefusalAmongFewCallsSaysNothing() {
    assertTrue(share.tryPass());
    share.busy();
    assertTrue(share.tryPass());
  }

  public void testNothingPassesDuringAPause() {
    share.pause(2 * SECOND);
    assertFalse(share.tryPass());
    now.addAndGet(2 * SECOND);
    assertTrue(share.tryPass());
  }
}
