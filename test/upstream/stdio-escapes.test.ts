// What a command started goes with it, also what tried to stay.

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import {
  aServer,
  aStdioDial,
  call,
  never,
  none,
  noneLeft,
  processesWith,
  stdioTransport,
  until,
} from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const marks: string[] = [];
const aMark = (): string => {
  const mark = String(randomInt(1e12, 1e13));
  marks.push(mark);
  return mark;
};

afterEach(() => {
  for (const mark of marks.splice(0)) for (const pid of processesWith(mark)) process.kill(Number(pid), 'SIGKILL');
});

describe('five seconds after a command was closed', () => {
  it.each([
    ['in a session of its own', 'session', 2],
    ['a daemon whose parent is gone', 'daemon', 2],
    ['in a session of its own and without its environment', 'bare', 2],
    ['a command that hears neither the end of its input nor a signal', 'deaf', 1],
    ['two hundred processes, half of them in sessions of their own', 'many', 201],
  ])('nothing is left: %s (T29)', async (_, way, count) => {
    const mark = aMark();
    const connection = await aStdioDial()(aServer(stdioTransport('escapes.mjs', [way, mark])), none, never());
    await within(
      until(() => processesWith(mark).length >= count),
      'all to run',
    );
    const start = systemClock.now();
    await connection.close();
    expect(systemClock.now() - start).toBeLessThan(5_000);
    await noneLeft(() => processesWith(mark), 500);
  });

  it.each(['session', 'daemon'])('nothing is left when the command died before: %s (T29)', async (way) => {
    const mark = aMark();
    const connection = await aStdioDial()(aServer(stdioTransport('escapes.mjs', [way, mark])), none, never());
    await within(
      until(() => processesWith(mark).length === 2),
      'both to run',
    );
    await expect(call(connection, 'die')).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await connection.close();
    await noneLeft(() => processesWith(mark), 500);
  });

  it("nobody else's process is touched, not one of another command either (T29)", async () => {
    const [mark, other, stranger] = [aMark(), aMark(), aMark()];
    const bystander = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 30_000)', stranger], { stdio: 'ignore' });
    const dial = aStdioDial();
    const [one, two] = await Promise.all([
      dial(aServer(stdioTransport('escapes.mjs', ['session', mark])), none, never()),
      dial(aServer(stdioTransport('escapes.mjs', ['daemon', other])), none, never()),
    ]);
    await within(
      until(() => processesWith(other).length === 2),
      'both to run',
    );
    await one.close();
    expect(processesWith(mark)).toEqual([]);
    expect(processesWith(other)).toHaveLength(2);
    expect(processesWith(stranger)).toEqual([String(bystander.pid)]);
    await two.close();
    bystander.kill('SIGKILL');
  });
});
