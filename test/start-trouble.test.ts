// T23: why the start failed is told in words of ours, whatever is thrown, and says what to do.
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../src/config.ts';
import { OwnError, ProxyError } from '../src/shared/errors.ts';
import { StartError, startTrouble } from '../src/start-trouble.ts';

const SECRET = 'canary-9b2e-of-a-message';
const asNode = (members: object): Error => Object.assign(new Error(SECRET), members);

describe('what the operator is told', () => {
  it.each([
    [new ConfigError(['PORT must be a number']), 'The configuration does not hold:\n  - PORT must be a number'],
    [new StartError('The database cannot be used.'), 'The database cannot be used.'],
    [new OwnError('master.key does not hold.'), 'Keybearer could not start: master.key does not hold.'],
    [new OwnError('no key opens it'), 'Keybearer could not start: no key opens it.'],
    [
      asNode({ code: 'EADDRINUSE', syscall: 'listen', port: 80 }),
      'Something listens on port 80 already; choose another with PORT=….',
    ],
    [
      asNode({ code: 'EACCES', syscall: 'listen', port: 80 }),
      'This user may not listen on port 80; choose one from 1024 on',
    ],
    [asNode({ code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: SECRET }), 'The name in HOST is not known'],
    [
      asNode({ code: 'EACCES', syscall: 'open', path: SECRET }),
      'Something in KEYBEARER_DATA_DIR may not be read or written',
    ],
    [asNode({ code: 'ENOSPC', syscall: 'write' }), 'The disk is full. (ENOSPC)'],
    [
      asNode({ code: '28P01', detail: SECRET }),
      'The database cannot be used: it does not accept the user or the password (28P01). See DATABASE_URL.',
    ],
    [
      new ProxyError('overloaded', 'The database does not answer at the moment.', {
        cause: asNode({ code: 'ECONNRESET' }),
      }),
      'The database cannot be used: it closed the connection (ECONNRESET). See DATABASE_URL.',
    ],
    [asNode({ code: `E ${SECRET}`, syscall: `open ${SECRET}`, path: SECRET }), 'not foreseen'],
    [
      new TypeError(SECRET, { cause: asNode({ cause: SECRET }) }),
      'an error that was not foreseen; please report it: {"kind":"TypeError"',
    ],
    [new AggregateError([asNode({})], SECRET), 'not foreseen'],
    [SECRET, 'not foreseen'],
    [undefined, 'not foreseen'],
  ])('of %o', (error, words) => {
    expect(startTrouble(error)).toContain(words);
    expect(startTrouble(error)).not.toContain(SECRET);
  });
});
