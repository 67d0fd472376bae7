// The only importer of pino. Fields, not sentences; never arguments, results, headers or tokens.
import { type Logger as PinoLogger, pino } from 'pino';
import { SignInRequiredError } from './errors.ts';

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

/** An error as loggable fields: class, code and message of it and of its causes, never their payloads. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { kind: typeof error };
  const code = (error as { code?: unknown }).code;
  // Its message is for the person it names: whoever reads the link could sign in as them (T23).
  if (error instanceof SignInRequiredError) return { kind: error.name, code, server: error.server };
  return {
    kind: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    message: error.message.slice(0, 300),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
