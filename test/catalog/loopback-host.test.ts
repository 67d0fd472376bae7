import { expect, it } from 'vitest';
import { isLoopbackHost } from '../../src/catalog/loopback-host.ts';

it('knows a loopback host by its name alone', () => {
  expect(['localhost', '127.0.0.1', '[::1]', 'LocalHost'].every(isLoopbackHost)).toBe(true);
  expect(['127.0.0.1.x', '0.0.0.0', '[::]', '::1', ''].some(isLoopbackHost)).toBe(false);
});
