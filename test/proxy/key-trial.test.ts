import { describe, expect, it } from 'vitest';
import type { Credential } from '../../src/credential/credential.ts';
import { createKeyTrial, type KeyTrial } from '../../src/proxy/key-trial.ts';
import { CredentialRefusedError, ProxyError } from '../../src/shared/errors.ts';
import { Secret } from '../../src/shared/secret.ts';
import { Reply } from '../../src/wire/reply.ts';
import { ANNA, aConnection, NEVER, type Outcome, type ScriptedConnection, server } from './support.ts';

const OWNER = { kind: 'principal', principalId: ANNA } as const;
const CANARY = 'canary-key';

async function tried(
  outcome: Outcome,
): Promise<{ trial: KeyTrial; connection: ScriptedConnection; dialled: readonly Credential[] }> {
  const connection = aConnection([outcome]);
  const dialled: Credential[] = [];
  const tryKey = createKeyTrial((_server, credential) => (dialled.push(credential), Promise.resolve(connection)));
  return { trial: await tryKey(server, OWNER, new Secret(CANARY), NEVER), connection, dialled };
}

describe('trying a key', () => {
  it('says how many tools it opens, over a connection of its own that is closed again', async () => {
    const { trial, connection, dialled } = await tried(
      Reply.of(1, { result: { tools: [{ name: 'a' }, { name: 'b' }] } }),
    );
    expect(trial).toEqual({ ok: true, toolCount: 2 });
    expect(connection.isClosed).toBe(true);
    expect(dialled).toMatchObject([{ kind: 'static', owner: OWNER, version: 'trial' }]);
  });

  it('says that it was not accepted, or why nothing can be said, and closes all the same', async () => {
    const refused = await tried(new CredentialRefusedError(401, CANARY));
    expect(refused.trial).toEqual({ ok: false, reason: 'The server did not accept this key.' });
    expect(refused.connection.isClosed).toBe(true);
    const broken = await tried(new ProxyError('upstream_unavailable', 'The server cannot be reached.'));
    expect(broken.trial).toEqual({ ok: false, reason: 'The server cannot be reached.' });
    expect(broken.connection.isClosed).toBe(true);
  });

  it('says so too when the dial is refused already', async () => {
    const tryKey = createKeyTrial(() => Promise.reject(new CredentialRefusedError(403, undefined)));
    expect(await tryKey(server, OWNER, new Secret(CANARY), NEVER)).toMatchObject({ ok: false });
  });

  it('lets our own faults rise: they say nothing about the key', async () => {
    for (const error of [
      new Error('a bug'),
      new ProxyError('internal', 'The stored credential cannot be sent as a header.'),
    ])
      await expect(tried(error)).rejects.toBe(error);
  });
});
