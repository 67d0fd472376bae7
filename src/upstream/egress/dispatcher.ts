// The one way out. Every socket to an upstream or to a sign-in server is opened here and nowhere
// else, so that the address guard has one door to stand at. Redirects are never followed, and proxy
// variables of the environment are ignored.
import { Agent, buildConnector, type Dispatcher } from 'undici';

/** Called before each new socket; throwing refuses it. The address guard plugs in here. */
export type AllowSocket = (target: { protocol: string; hostname: string; port: string }) => void;

export interface DoorOptions {
  readonly connectTimeoutMs: number;
  /** Sockets per origin at most; requests beyond wait for one. Null: no limit. */
  readonly socketsPerOrigin: number | null;
  readonly allow: AllowSocket;
}

/** Sockets are pooled per origin and carry no identity of their own: the credential travels in each request. */
export function openDoor(options: DoorOptions): Dispatcher {
  const connector = buildConnector({ timeout: options.connectTimeoutMs, allowH2: false });
  return new Agent({
    connect(target, callback) {
      try {
        options.allow(target);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      connector(target, callback);
    },
    connections: options.socketsPerOrigin,
    pipelining: 1,
    // Each wait has its own owner: the call's deadline, the connect phase, or a listener. An idle
    // timer of the client would cut quiet streams.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Below the usual limits of fronts and servers, so that a socket is not taken just as it dies.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
    maxHeaderSize: 16_384,
  });
}
