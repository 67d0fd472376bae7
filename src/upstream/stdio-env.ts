// What a command gets to see of the environment: nine harmless names of ours, what its definition
// sets, the one credential it runs for, and a mark. Everything else, our own secrets first, stays out.
import type { CredentialSpec, StdioTransport } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import { NotRunError } from '../shared/errors.ts';
import type { Secret } from '../shared/secret.ts';

export const INHERITED = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER'] as const;

/** Random for each start and no secret: by it we find what the command started, to end it too. */
export const MARK_NAME = 'CHILD_OF_KEYBEARER';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws without quoting a value: Node's own error for a NUL would print it. */
export function childEnvironment(
  parentEnv: Environment,
  transport: StdioTransport,
  spec: CredentialSpec | undefined,
  credential: Credential,
  mark: string,
): Record<string, string> {
  const env: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const name of INHERITED) {
    const value = parentEnv[name];
    // A value that begins like this is a shell function, not a setting.
    if (value !== undefined && !value.startsWith('()')) env[name] = value;
  }
  for (const [name, value] of transport.env) env[name] = value.reveal();
  if (credential.kind === 'static') {
    if (spec?.env === undefined)
      throw new NotRunError('The server does not say which environment variable carries its credential.');
    env[spec.env] = credential.secret.reveal();
  }
  if (env[MARK_NAME] !== undefined) throw new NotRunError(`The variable ${MARK_NAME} is the proxy's own.`);
  env[MARK_NAME] = mark;
  for (const [name, value] of Object.entries(env)) check(name, value);
  return env;
}

function check(name: string, value: string): void {
  if (name === '' || /[=\u0000]/.test(name))
    throw new NotRunError('A name among the environment variables of the server cannot be used.');
  if (value.includes('\u0000'))
    throw new NotRunError(
      `The environment variable ${name} of the server holds a NUL character, so it cannot be passed on.`,
    );
}

/** Values that must not come back in a log line: all of them, for a log loses nothing by it. */
export function secretsOf(transport: StdioTransport, credential: Credential): readonly Secret[] {
  const own = [...transport.env.values()];
  return credential.kind === 'static' ? [...own, credential.secret] : own;
}
