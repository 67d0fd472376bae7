// The cluster's password: random, made once, in a file that only we can read.
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OwnError } from '../../shared/errors.ts';

export const PASSWORD_FILE = 'postgres.password';

export async function keepPassword(dataDir: string): Promise<string> {
  const file = join(dataDir, PASSWORD_FILE);
  const known = await readPassword(file);
  if (known !== undefined) return known;
  // Written aside and then linked: whoever is second, or killed half-way, finds a whole one or none.
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  await link(draft, file).catch(() => undefined);
  await rm(draft);
  const password = await readPassword(file);
  if (password === undefined) throw new OwnError(`The database's password could not be written to ${file}.`);
  return password;
}

async function readPassword(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
