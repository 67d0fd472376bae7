import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type KeyFile, openKeyFile } from '../../src/credential/key-file.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { newMasterKey } from '../support/turning-keys.ts';

const clock = new FakeClock();
const [FIRST, SECOND] = [newMasterKey(), newMasterKey()];
const idsOf = async (keys: Pick<KeyFile, 'list'>): Promise<readonly string[]> =>
  (await keys.list()).map(({ id }) => id);
const named = (...keys: string[]): Promise<readonly string[]> => idsOf(createStaticKeyProvider(keys));

let directory: string;
let path: string;
let lines: string[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kb-keys-'));
  path = join(directory, 'master.key');
  lines = [];
});
afterEach(() => rm(directory, { recursive: true }));

const open = async (text: string): Promise<KeyFile> => {
  await writeFile(path, text);
  return openKeyFile({ path, clock, logger: createLogger('debug', { write: (line) => void lines.push(line) }) });
};

describe('the file of master keys', () => {
  it.each([
    ['one key', `${FIRST}\n`, [FIRST]],
    ['two lines', `${FIRST}\n${SECOND}\n`, [FIRST, SECOND]],
    ['a comma list with blanks, and Windows lines', ` ${SECOND} , ${FIRST}\r\n`, [SECOND, FIRST]],
    ['remarks and empty lines', `# new\n${SECOND}\n\n  # old, of last year\n${FIRST}`, [SECOND, FIRST]],
  ])('may hold %s; the first is current', async (_, text, keys) => {
    const file = await open(text);
    expect(await idsOf(file)).toEqual(await named(...keys));
    expect((await file.list()).map(({ isCurrent }) => isCurrent)).toEqual(keys.map((_key, at) => at === 0));
    file.close();
  });

  it.each([
    ['is empty', '\n'],
    ['holds something else', `${FIRST}\nnot-a-key-canary\n`],
  ])('that %s stops the start, and is not repeated', async (_, text) => {
    const error = await open(text).catch((reason: unknown) => reason);
    expect(String(error)).toContain(`${path} does not hold`);
    expect(String(error)).not.toContain('canary');
    expect(String(error)).not.toContain(FIRST);
  });

  it('is read again when it changes: what was wrapped before still opens, and listeners hear of it', async () => {
    const file = await open(FIRST);
    let heard = 0;
    const unsubscribe = file.onChange(() => (heard += 1));
    const wrapped = await file.wrap(Buffer.from('data key'), ['data-key']);
    await writeFile(path, `${SECOND}\n${FIRST}\n`);
    await file.check();
    expect([heard, await idsOf(file)]).toEqual([1, await named(SECOND, FIRST)]);
    expect((await file.unwrap(wrapped, ['data-key'])).toString()).toBe('data key');
    expect((await file.wrap(Buffer.from('x'), [])).keyId).toBe((await named(SECOND))[0]);
    unsubscribe();
    await writeFile(path, SECOND);
    await file.check();
    expect(heard).toBe(1);
    await expect(file.unwrap(wrapped, ['data-key'])).rejects.toMatchObject({ code: 'overloaded' });
    file.close();
  });

  it('that does not hold any more, or is gone, changes nothing and is reported without a key', async () => {
    const file = await open(FIRST);
    for (const spoil of [() => writeFile(path, `${SECOND}x\n`), () => writeFile(path, ''), () => rm(path)]) {
      lines.length = 0;
      await spoil();
      await file.check();
      expect(lines.join('')).toContain('the keys of before stay');
      expect(lines.join('')).not.toContain(SECOND.slice(0, 20));
      expect(await idsOf(file)).toEqual(await named(FIRST));
    }
    await writeFile(path, `${SECOND}\n`);
    await file.check();
    expect(await idsOf(file)).toEqual(await named(SECOND));
    file.close();
  });
});
