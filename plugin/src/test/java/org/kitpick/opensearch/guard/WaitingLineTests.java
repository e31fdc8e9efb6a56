package org.kitpick.opensearch.guard;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.opensearch.test.OpenSearchTestCase;

@com.carrotsearch.randomizedtesting.annotations.ThreadLeakFilters(filters = HttpClientThreads.class)
public class WaitingLineTests extends OpenSearchTestCase {

  private static final long SECOND = 1_000_000_000L;

  private final AtomicLong now = new AtomicLong(randomLongBetween(-SECOND, SECOND));
  private final LoadShare share = new LoadShare(now::get);
  private final WaitingLine line = new WaitingLine(share, Runnable::run, now::get);

  public void testWhileThereIsRoomNobodyWaits() {
    for (int i = 0; i < 100; i++) {
      assertTrue(line.enter(line.deadlineNanos(0)).join());
    }
  }

  public void testWhoHasToLeaveFirstGoesFirstAndOfEqualsWhoCameFirst() {
    oneIsServed();
    List<String> gone = new ArrayList<>();
    long until = now.get() + 2 * SECOND;
    goes("third", until, gone);
    goes("fourth", until + 4, gone);
    goes("second", until - 4, gone);
    goes("first", until - 8, gone);
    for (int i = 0; i < 4; i++) {
      assertEquals(i, gone.size());
      share.abandoned();
      line.look();
    }
    assertEquals(List.of("first", "second", "third", "fourth"), gone);
  }

  public void testWhoseTimeIsOverLeaves() {
    oneIsServed();
    CompletableFuture<Boolean> waits = line.enter(line.deadlineNanos(2_000));
    line.look();
    assertFalse(waits.isDone());
    now.addAndGet(SECOND);
    assertFalse("seen by whoever looks, and in a moment by itself", waits.join());
    assertEquals("one of three was spared", 1 / 3.0, share.refusal(), 1e-9);
    assertFalse("without patience at once", line.enter(line.deadlineNanos(0)).join());
  }

  public void testNobodyWaitsForAServiceThatIsAwayForLonger() {
    share.pause(SECOND);
    assertFalse(line.enter(line.deadlineNanos(1_998)).join());
    CompletableFuture<Boolean> waits = line.enter(line.deadlineNanos(2_002));
    assertFalse(waits.isDone());
    now.addAndGet(SECOND);
    assertTrue("the end of a pause is seen without anybody's doing", waits.join());
  }

  public void testWhoWaitsIsNotPassedBy() {
    oneIsServed();
    CompletableFuture<Boolean> waits = line.enter(line.deadlineNanos(2_000));
    share.abandoned();
    assertFalse("others wait already", line.enter(line.deadlineNanos(0)).join());
    assertTrue(waits.join());
  }

  public void testWhatSearchesTakeDecidesHowLongOneMayWait() {
    oneIsServed();
    line.ended(SECOND / 5, true, null);
    CompletableFuture<Boolean> waits = line.enter(line.deadlineNanos(1_000));
    now.addAndGet(SECOND * 59 / 100);
    line.look();
    assertFalse("a search needs 400 ms", waits.isDone());
    now.addAndGet(SECOND / 100);
    line.look();
    assertFalse(waits.join());
    assertFalse(line.hasTime(line.deadlineNanos(400)));
    assertTrue(line.hasTime(line.deadlineNanos(401)));
  }

  public void testWhatASearchTakesBesideOthersSaysNothingOfOneAlone() {
    assertEquals(0, line.aloneMillis());
    line.ended(SECOND, false, null);
    assertEquals("the first one is all that is known", 1_000, line.aloneMillis());
    line.ended(SECOND / 2, false, null);
    assertEquals("faster than one alone", 990, line.aloneMillis());
    line.ended(2 * SECOND, false, null);
    assertEquals(990, line.aloneMillis());
    line.ended(2 * SECOND, true, null);
    assertEquals("slower, and alone", 1_192, line.aloneMillis());
  }

  public void testSearchesThatHinderEachOtherAreFewerTheNextTime() {
    for (int i = 0; i < 10; i++) {
      assertTrue(share.tryPass());
    }
    line.ended(SECOND / 5, true, null);
    line.ended(SECOND / 3, false, null);
    assertTrue("that is no crowd yet", share.tryPass());
    line.ended(SECOND, false, new RescoreFailure(FailureReason.REFUSED, "not for want of time"));
    line.ended(
        SECOND / 10, false, new RescoreFailure(FailureReason.TIMEOUT, "somebody had little time"));
    assertTrue(share.tryPass());
    line.ended(SECOND, false, new RescoreFailure(FailureReason.TIMEOUT, "too slow"));
    for (int left = 12; left > 9; left--) {
      assertFalse("of twelve nine may stay", share.tryPass());
      share.abandoned();
    }
    share.abandoned();
    assertTrue(share.tryPass());
    assertFalse(share.tryPass());
  }

  public void testOneThatIsSlowAloneIsNoCrowd() {
    line.ended(SECOND / 5, true, null);
    assertTrue(share.tryPass());
    line.ended(SECOND, true, null);
    for (int i = 0; i < 40; i++) {
      assertTrue(share.tryPass());
    }
  }

  /** The service holds one search, and has said that it holds no more. */
  private void oneIsServed() {
    assertTrue(line.enter(line.deadlineNanos(0)).join());
    assertTrue(line.enter(line.deadlineNanos(0)).join());
    share.busy();
  }

  private void goes(String name, long untilNanos, List<String> gone) {
    line.enter(untilNanos).thenAccept(passes -> gone.add(passes ? name : name + " in vain"));
  }
}
