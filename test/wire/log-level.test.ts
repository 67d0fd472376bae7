// Who hears what of a server's log, whatever way it is written.
import { describe, expect, it } from 'vitest';
import { isHeard, isLogLevel, showsAllOf } from '../../src/wire/log-level.ts';

const log = (level: unknown, method = '"notifications/message"'): string =>
  `{"jsonrpc":"2.0","method":${method},"params":{"level":${JSON.stringify(level)},"data":"x"}}`;

describe('a line of a log', () => {
  it.each([
    ['warning', 'error', true],
    ['warning', 'warning', true],
    ['warning', 'info', false],
    ['debug', 'debug', true],
    ['emergency', 'alert', false],
    ['none', 'emergency', false],
    ['warning', 'shouting', true],
    ['none', 'shouting', false],
    ['warning', 7, true],
  ] as const)('for who wants %s: of level %s is heard: %s', (wanted, level, expected) =>
    expect(isHeard(log(level), wanted)).toBe(expected),
  );

  it('is one however it is written', () => {
    expect(isHeard(log('info', '"notifications\\/message"'), 'error')).toBe(false);
    expect(isHeard(`  ${log('info')}`, 'error')).toBe(false);
  });

  it('is not what only mentions it, or cannot be read', () => {
    const progress = '{"method":"notifications/progress","params":{"message":"notifications/message","level":"debug"}}';
    for (const raw of [progress, '{"method":"notifications/message"', '["notifications/message"]'])
      expect(isHeard(raw, 'none'), raw).toBe(true);
  });
});

describe('levels', () => {
  it('are the eight of RFC 5424', () => {
    expect(['debug', 'notice', 'emergency'].every(isLogLevel)).toBe(true);
    expect(['', 'Debug', 'trace', 7, null, undefined, 'toString'].some(isLogLevel)).toBe(false);
  });

  it('show all of those that are graver', () => {
    expect(showsAllOf('debug', 'emergency')).toBe(true);
    expect(showsAllOf('info', 'info')).toBe(true);
    expect(showsAllOf('error', 'warning')).toBe(false);
  });
});
