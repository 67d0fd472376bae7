// Why the start failed and what to do about it, in words of ours: Node and its libraries quote what they choked on, and
// at the start that is an address with its password, or a key (T23).
import { ConfigError } from './config.ts';
import { databaseTrouble } from './database-trouble.ts';
import { OwnError } from './shared/errors.ts';
import { describeError } from './shared/logger.ts';

/** Its message is the whole of what the operator is told. */
export class StartError extends OwnError {}

const DISK =
  'Something in KEYBEARER_DATA_DIR may not be read or written by this user, or is a directory where a file belongs.';

/** What to do where the system refused something. The port is the one thing of an error that is repeated. */
const REFUSED: Readonly<Record<string, string | ((port: string) => string)>> = {
  EADDRINUSE: (port) => `Something listens on port ${port} already; choose another with PORT=….`,
  EADDRNOTAVAIL: 'HOST is no address of this machine; 127.0.0.1 is reached from here alone, 0.0.0.0 from everywhere.',
  ENOTFOUND: 'The name in HOST is not known; give an IP address of this machine.',
  EAI_AGAIN: 'The name in HOST cannot be looked up at the moment; give an IP address of this machine.',
  ENOSPC: 'The disk is full.',
  EDQUOT: 'The disk is full for this user.',
  EMFILE: 'The process may not open enough files; raise its limit (ulimit -n).',
  ENFILE: 'The machine has too many files open.',
};

const SYSTEM_CODE = /^E[A-Z0-9_]{1,31}$/;

/** What the operator is told, on one line unless it is a list of problems; ends with a full stop. */
export function startTrouble(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  return `Keybearer could not start: ${whatHappened(error)}`;
}

function whatHappened(error: unknown): string {
  if (isFromDatabase(error)) return `The database cannot be used: ${databaseTrouble(error)}. See DATABASE_URL.`;
  if (error instanceof OwnError) return `${error.message.replace(/\.$/, '')}.`;
  const { code, syscall, port } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof code === 'string' && SYSTEM_CODE.test(code) && typeof syscall === 'string') {
    if (code === 'EACCES' && syscall === 'listen')
      return `This user may not listen on port ${String(port)}; choose one from 1024 on with PORT=….`;
    const words = REFUSED[code] ?? DISK;
    return `${typeof words === 'string' ? words : words(String(port))} (${code})`;
  }
  return `an error that was not foreseen; please report it: ${JSON.stringify(describeError(error))}`;
}

/** By its SQLSTATE, which has a digit where the codes of the system have none; or by what the store makes of it. */
function isFromDatabase(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && (code === 'overloaded' || /^(?=.*\d)[\dA-Z]{5}$/.test(code));
}
