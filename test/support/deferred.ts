/** An answer that comes when the test says so. */
export function deferred<T = void>() {
  let [resolve, reject]: [(value: T) => void, (error: Error) => void] = [() => undefined, () => undefined];
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve: (value: T) => resolve(value), reject: (error: Error) => reject(error) };
}
