package org.kitpick.opensearch.http;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.LongPredicate;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.RescoreFailure;

/**
 * Collects a body up to a limit and as long as there is room, and stops reading beyond: the heap
 * belongs to the search engine.
 */
final class BoundedBody implements BodySubscriber<byte[]> {

  private final long limit;
  private final LongPredicate room;
  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
  private final ByteArrayOutputStream collected = new ByteArrayOutputStream();
  private Flow.Subscription subscription;

  private BoundedBody(long limit, LongPredicate room) {
    this.limit = limit;
    this.room = room;
  }

  /**
   * A handler that refuses a body announced as too large before its first byte.
   *
   * @param room takes so many bytes more of what all answers may hold, if there are
   */
  static BodyHandler<byte[]> upTo(long limit, LongPredicate room, Runnable onHeaders) {
    return headers -> {
      onHeaders.run();
      BoundedBody body = new BoundedBody(limit, room);
      if (headers.headers().firstValueAsLong("Content-Length").orElse(0) > limit) {
        body.whole.completeExceptionally(body.tooLarge());
      }
      return body;
    };
  }

  @Override
  public CompletionStage<byte[]> getBody() {
    return whole;
  }

  @Override
  public void onSubscribe(Flow.Subscription incoming) {
    subscription = incoming;
    if (whole.isDone()) {
      incoming.cancel();
    } else {
      incoming.request(Long.MAX_VALUE);
    }
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    for (ByteBuffer buffer : buffers) {
      boolean fits = collected.size() + buffer.remaining() <= limit;
      if (!fits || !room.test(buffer.remaining())) {
        subscription.cancel();
        whole.completeExceptionally(fits ? RescoreFailure.noRoom() : tooLarge());
        return;
      }
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      collected.writeBytes(bytes);
    }
  }

  private RescoreFailure tooLarge() {
    return new RescoreFailure(
        FailureReason.TOO_LARGE, "the answer has more than " + limit + " bytes");
  }

  @Override
  public void onError(Throwable failure) {
    whole.completeExceptionally(failure);
  }

  @Override
  public void onComplete() {
    whole.complete(collected.toByteArray());
  }
}
