/**
 * Maps each item of an iterable. Unlike a generator, it ends the source even when nothing was read from it, so that
 * nothing stays open.
 */
export function mapEach<From, To>(source: AsyncIterable<From>, map: (item: From) => To): AsyncIterable<To> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      return {
        async next() {
          const result = await iterator.next();
          return result.done ? { done: true, value: undefined } : { done: false, value: map(result.value) };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
