// What a call without a usable credential ends with: a link that carries on what the refusal said, or,
// where asking again would change nothing, an error that says so.
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import { type Credential, ownerKey } from '../credential/credential.ts';
import type { ScopeStore } from '../credential/scope-store.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError, SignInRequiredError } from '../shared/errors.ts';
import type { PrincipalId } from '../shared/id.ts';
import type { AskForCredential } from './with-upstream.ts';

export interface AskForCredentialDeps {
  readonly broker: Pick<CredentialBroker, 'askSignIn' | 'scopesOf'>;
  readonly scopes: Pick<ScopeStore, 'add'>;
  readonly clock: Clock;
}

/** By then the person, or their account, may be able to grant what was not granted at the last sign-in. */
const ASK_AGAIN_MS = 10 * 60_000;

export function createAskForCredential({ broker, scopes, clock }: AskForCredentialDeps): AskForCredential {
  return async (server, principalId, refused, toolName) => {
    const challenge = refused?.error.challenge;
    const missing = refused?.error.missingScopes;
    if (refused === undefined || missing === undefined) {
      const asked = await broker.askSignIn(server, principalId, { challenge });
      return refused === undefined ? asked : ofRefusedKey(server, asked);
    }
    if (wasJustAsked(server, refused.credential, missing)) return notGranted(server, missing);
    await remember(server, principalId, toolName, missing);
    return broker.askSignIn(server, principalId, { challenge, scopes: missing });
  };

  /** Refused all the same: a second question right away would bring the same (2026-07-28 §authorization, step-up). */
  function wasJustAsked(server: UpstreamServer, credential: Credential, missing: readonly string[]): boolean {
    if (missing.length === 0 || credential.kind === 'none' || credential.signedInAt === undefined) return false;
    if (clock.now() - credential.signedInAt >= ASK_AGAIN_MS) return false;
    const asked = broker.scopesOf(server, credential);
    return asked !== undefined && missing.every((scope) => asked.includes(scope));
  }

  async function remember(
    server: UpstreamServer,
    principalId: PrincipalId,
    toolName: string | undefined,
    missing: readonly string[],
  ): Promise<void> {
    if (missing.length === 0 || !needsPerson(server)) return;
    const owner = ownerKey({ kind: 'principal', principalId });
    await scopes.add({ tenantId: server.tenantId, serverId: server.id, owner }, toolName ?? '', missing, clock.now());
  }
}

/** The person has given a key already, and would wonder why they are asked as if they had not. */
function ofRefusedKey({ name, credential }: UpstreamServer, asked: ProxyError): ProxyError {
  if (!(asked instanceof SignInRequiredError) || credential?.kind !== 'secret') return asked;
  const why = `${name} refused the key that is kept for this person; another one is needed.`;
  return new SignInRequiredError(asked.server, asked.url, asked.expiresAt, why);
}

const notGranted = ({ name }: UpstreamServer, missing: readonly string[]): ProxyError =>
  new ProxyError(
    'denied',
    `${name} wants the scope ${missing.join(' ').slice(0, 200)} for this, which was asked for at the last sign-in and is still not enough. Ten minutes after that sign-in the person can be asked anew; to choose before, they can disconnect it at /connections and connect it again.`,
    { data: { server: name, scopes: missing } },
  );
