// What the admin of a server set about its sign-in, out of the definition.
import type { UpstreamServer } from '../../catalog/upstream-server.ts';
import { readText } from './documents.ts';

export interface Pins {
  readonly issuer: string | undefined;
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
  readonly resource: string | undefined;
  readonly allowMissingPkceMetadata: boolean;
  /** A browser comes back with a code; the other kinds only ask the token endpoint. */
  readonly needsCode: boolean;
  /** Every endpoint that is needed is there, so nothing has to be discovered. */
  readonly areEnough: boolean;
}

export function pinsOf({ credential }: UpstreamServer): Pins {
  const oauth = credential?.oauth ?? {};
  const authorizationEndpoint = readText(oauth['authorizationEndpoint']);
  const tokenEndpoint = readText(oauth['tokenEndpoint']);
  const needsCode = credential === undefined || credential.kind === 'oauth';
  return {
    issuer: readText(oauth['issuer']),
    authorizationEndpoint,
    tokenEndpoint,
    resource: readText(oauth['resource']),
    allowMissingPkceMetadata: oauth['allowMissingPkceMetadata'] === true,
    needsCode,
    areEnough: tokenEndpoint !== undefined && (authorizationEndpoint !== undefined || !needsCode),
  };
}
