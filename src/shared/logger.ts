// The only importer of pino. Fields, not sentences; never arguments, results, headers or tokens.
import { type Logger as PinoLogger, pino } from 'pino';
import { OwnError, SignInRequiredError } from './errors.ts';

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & {
  child(fields: Record<string, unknown>): Logger;
};

/** The second net under `Secret`: fields of these names never reach a line whoever logs them. */
const REDACTED = [
  'authorization',
  'token',
  'secret',
  'password',
  'headers',
  'arguments',
  'result',
  'env',
  '*.authorization',
  '*.token',
  '*.secret',
  '*.password',
];

export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const options = { level, base: null, redact: { paths: REDACTED, censor: '[redacted]' } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

const WORD = /^[\w.:-]{1,64}$/;
/** Causes may go round in a circle. */
const MAX_CAUSES = 8;
const LIBRARY = /node_modules/;
/** A file of ours with its line, wherever it is installed. */
const OUR_PLACE = /\/((?:src|dist)\/[\w./-]{1,100}:\d{1,6})/;

/**
 * An error as loggable fields: class, code and place of it and of its causes; the message only where it is in
 * words of ours, and never what else it carries.
 */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error) || depth > MAX_CAUSES) return { kind: typeof error };
  const code = wordIn(error, 'code');
  const kind = wordIn(error, 'name') ?? 'Error';
  // Its message is for the person it names: whoever reads the link could sign in as them (T23).
  if (error instanceof SignInRequiredError) return { kind, code, server: error.server };
  return {
    kind,
    ...(code === undefined ? {} : { code }),
    ...(error instanceof OwnError ? { message: error.message.slice(0, 300) } : foreign(error)),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause, depth + 1) }),
    ...(error instanceof AggregateError
      ? { errors: error.errors.slice(0, 10).map((one) => describeError(one, depth + 1)) }
      : {}),
  };
}

/** Where it was thrown, to find it by: what its message quotes is not known. */
function foreign(error: Error): Record<string, unknown> {
  const syscall = wordIn(error, 'syscall');
  const { stack = '', message } = error;
  // Behind the message, which may look like a place itself.
  const at = stack.indexOf(message);
  const lines = at < 0 ? [] : stack.slice(at + message.length).split('\n');
  const place = OUR_PLACE.exec(lines.find((line) => !LIBRARY.test(line) && OUR_PLACE.test(line)) ?? '')?.[1];
  return { ...(syscall === undefined ? {} : { syscall }), ...(place === undefined ? {} : { at: place }) };
}

function wordIn(error: Error, member: 'name' | 'code' | 'syscall'): string | undefined {
  const value = (error as unknown as Readonly<Record<string, unknown>>)[member];
  return typeof value === 'string' && WORD.test(value) ? value : undefined;
}
