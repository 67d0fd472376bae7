import { describe, expect, it } from 'vitest';
import { SharedEar } from '../../src/upstream/shared-ear.ts';

/** An agent that reads only when told to. */
function aSlowHearing() {
  const log: string[] = [];
  let release: () => void = () => undefined;
  const hearing = {
    message: (raw: string) => void log.push(raw.slice(0, 5)),
    flush: () => {
      log.push('flush');
      return new Promise<void>((resolve) => (release = resolve));
    },
    progress: () => undefined,
  };
  return { log, hearing, read: () => release() };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('one call among several on a stream', () => {
  it('hears on while its agent is slow, and is written out when the agent has read', async () => {
    const { log, hearing, read } = aSlowHearing();
    const ear = new SharedEar(hearing);
    ear.message('one');
    ear.flush();
    ear.message('two');
    ear.flush();
    expect(log).toEqual(['one', 'flush', 'two']);
    read();
    await settled();
    expect(log).toEqual(['one', 'flush', 'two', 'flush']);
  });

  it('keeps no more than a megabyte for a slow agent, and hears again after it has read', async () => {
    const { log, hearing, read } = aSlowHearing();
    const ear = new SharedEar(hearing);
    ear.message('first');
    ear.flush();
    for (let i = 0; i < 8; i++) ear.message(`${i}`.repeat(300_000));
    expect(log.filter((entry) => /^\d/.test(entry))).toHaveLength(3);
    read();
    await settled();
    ear.message('later');
    expect(log.at(-1)).toBe('later');
  });

  it('is written out before its answer, slow or not', () => {
    const { log, hearing } = aSlowHearing();
    const ear = new SharedEar(hearing);
    ear.message('one');
    ear.flush();
    ear.message('two');
    ear.finish();
    expect(log).toEqual(['one', 'flush', 'two', 'flush']);
  });
});
