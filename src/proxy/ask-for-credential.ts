// What a call without a usable credential ends with: a link that carries on what the refusal said, or,
// where asking again would change nothing, an error that says so.
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import { ownerKey } from '../credential/credential.ts';
import type { ScopeStore } from '../credential/scope-store.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { PrincipalId } from '../shared/id.ts';
import type { WithUpstreamDeps } from './with-upstream.ts';

export interface AskForCredentialDeps {
  readonly broker: Pick<CredentialBroker, 'askSignIn' | 'scopesOf'>;
  readonly scopes: Pick<ScopeStore, 'add'>;
  readonly clock: Clock;
}

export function createAskForCredential({ broker, scopes, clock }: AskForCredentialDeps): WithUpstreamDeps['askSignIn'] {
  return async (server, principalId, refused, subject) => {
    const challenge = refused?.error.challenge;
    const missing = refused?.error.missingScopes;
    if (refused === undefined || missing === undefined) return broker.askSignIn(server, principalId, { challenge });
    const asked = broker.scopesOf(server, refused.credential);
    // Asked for once and refused all the same: a second question would bring the same (2026-07-28 §authorization, step-up).
    if (asked !== undefined && missing.length > 0 && missing.every((scope) => asked.includes(scope)))
      return notGranted(server, missing);
    await remember(server, principalId, subject, missing);
    return broker.askSignIn(server, principalId, { challenge, scopes: missing });
  };

  async function remember(
    server: UpstreamServer,
    principalId: PrincipalId,
    subject: string | undefined,
    missing: readonly string[],
  ): Promise<void> {
    if (missing.length === 0 || !needsPerson(server)) return;
    const owner = ownerKey({ kind: 'principal', principalId });
    await scopes.add({ tenantId: server.tenantId, serverId: server.id, owner }, subject ?? '', missing, clock.now());
  }
}

const notGranted = ({ name }: UpstreamServer, missing: readonly string[]): ProxyError =>
  new ProxyError(
    'denied',
    `${name} wants the scope ${missing.join(' ').slice(0, 200)} for this, which was asked for at the last sign-in and is still not enough. To choose anew, the person can disconnect it at /connections and connect it again.`,
    { data: { server: name, scopes: missing } },
  );
