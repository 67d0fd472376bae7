// From the JSON of a PUT to what may be stored: checked in full, its literal secrets sealed.
import { randomUUID } from 'node:crypto';
import { parseDefinition } from '../catalog/definition.ts';
import { openDefinition, type Seal, sealDefinition } from '../catalog/sealed-definition.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { isShredded } from '../credential/vault-errors.ts';
import { ProxyError } from '../shared/errors.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import { isJsonObject } from '../wire/reply.ts';
import type { DefinitionRules } from './ports.ts';
import { invalid, invalidAt } from './problem.ts';

export interface Registration {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly definition: unknown;
  /** The stored definition, if the server is there already. */
  readonly previous: unknown;
}

/** Throws a 422 with every problem; a `command` is one, whoever asks (T29). Nothing is sealed before all holds. */
export async function prepareDefinition(
  rules: DefinitionRules,
  registration: Registration,
): Promise<{ readonly sealed: unknown; readonly enabled: boolean }> {
  if (!isJsonObject(registration.definition)) throw invalidAt('$', 'must be an object');
  const { seal, open } = rules.secretsOf(registration.tenantId, registration.name);
  const typed = new Map<string, string>();
  const draft = await sealOr422(registration, async (path, value) => {
    typed.set(path, value);
    return '';
  });
  const plain = await openDefinition(
    draft,
    async (path, sealed, destination) =>
      typed.get(path) ?? (await open(path, sealed, destination).catch((error: unknown) => refuseLost(path, error))),
  );
  const server = checked(rules, registration, plain);
  return { sealed: await sealOr422(registration, seal), enabled: server.enabled };
}

function checked(
  { addressRule }: DefinitionRules,
  { tenantId, name }: Registration,
  definition: unknown,
): UpstreamServer {
  // The id is made by the table; here it only fills its place in a value that is thrown away.
  const id = randomUUID() as ServerId;
  const result = parseDefinition({
    tenantId,
    id,
    name,
    revision: '',
    enabled: true,
    source: 'table',
    definition,
    addressRule,
  });
  if (!result.ok) throw invalid(result.problems);
  return result.server;
}

function refuseLost(path: string, error: unknown): never {
  if (isShredded(error))
    throw invalidAt(`$.${path}`, 'what is stored there is lost with its key; send the value itself');
  throw error;
}

/** A secret that cannot be kept is one more mistake in the body. */
async function sealOr422({ definition, previous }: Registration, seal: Seal): Promise<unknown> {
  try {
    return await sealDefinition(definition, previous, seal);
  } catch (error) {
    if (!(error instanceof ProxyError) || error.code !== 'invalid_request') throw error;
    const path = error.data?.['path'];
    throw invalidAt(typeof path === 'string' ? `$.${path}` : '$', error.message);
  }
}
