package org.kitpick.opensearch.http;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * Collects a body up to a limit, and stops reading beyond it: the heap belongs to the search
 * engine.
 */
final class BoundedBody implements BodySubscriber<byte[]> {

  /** The body has more bytes than allowed. */
  static final class TooLarge extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TooLarge(long limit) {
      super("the answer has more than " + limit + " bytes");
    }
  }

  private final long limit;
  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
  private final ByteArrayOutputStream collected = new ByteArrayOutputStream();
  private Flow.Subscription subscription;

  private BoundedBody(long limit) {
    this.limit = limit;
  }

  /** A handler that refuses a body announced as too large before its first byte. */
  static BodyHandler<byte[]> upTo(long limit, Runnable onHeaders) {
    return headers -> {
      onHeaders.run();
      BoundedBody body = new BoundedBody(limit);
      if (headers.headers().firstValueAsLong("Content-Length").orElse(0) > limit) {
        body.whole.completeExceptionally(new TooLarge(limit));
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
      if (collected.size() + buffer.remaining() > limit) {
        subscription.cancel();
        whole.completeExceptionally(new TooLarge(limit));
        return;
      }
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      collected.writeBytes(bytes);
    }
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
