package org.kitpick.opensearch.guard;

import com.carrotsearch.randomizedtesting.ThreadFilter;

/**
 * Threads that the JDK ends when it likes: the HTTP client's selector, and the one timer of all
 * futures.
 */
public final class HttpClientThreads implements ThreadFilter {

  @Override
  public boolean reject(Thread thread) {
    String name = thread.getName();
    return name.startsWith("HttpClient-")
        || name.startsWith("CompletableFutureDelayScheduler")
        || name.startsWith("ForkJoinPool.commonPool-delayScheduler")
        || name.startsWith("HTTP-Dispatcher")
        || name.startsWith("idle-timeout-task");
  }
}
