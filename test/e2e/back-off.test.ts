// A server that is down is tried again with growing pauses of at most a minute, and only then.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { Scene, without } from '../support/scene.ts';

const clock = new FakeClock();
const scene = new Scene({ clock });
beforeAll(() => scene.begin());
afterAll(() => scene.end());

it('tries a broken server again with growing pauses, up to a minute between two', async () => {
  const server = await scene.bad('http-500', { on: 'initialize' });
  // This clock jumps, also while a try is under way, which must not take that for a server that is slow.
  const tenant = await scene.tenant({ down: without(server, { connectTimeoutMs: 120_000 }) });
  const failures = () => scene.app.lines.filter((line) => line.includes('"tools not found"')).length;
  await eventually('the first failure', () => failures() === 1);
  for (const [nth, longestMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000].entries()) {
    // Jitter takes away half at most, so before that nothing may happen.
    clock.advance(longestMs / 2 - 1);
    await tenant.status('down');
    expect(server.strikes, `before try ${nth + 2}`).toBe(nth + 1);
    clock.advance(longestMs / 2 + 1);
    await eventually(`failure ${nth + 2}`, () => failures() === nth + 2);
  }
  expect(await tenant.status('down')).toMatchObject({
    status: 'unavailable',
    lastError: expect.stringContaining('500'),
  });
  server.mode = 'healthy';
  clock.advance(60_000);
  await eventually('the tools', async () => (await tenant.status('down'))['toolCount'] === 1);
});
