// A connection to a command: one child for one owner, JSON-RPC by the line over its input and output.

import type { StdioTransport, UpstreamServer } from '../catalog/upstream-server.ts';
import type { Dial } from '../connection/connection.ts';
import { type Credential, ownerKey } from '../credential/credential.ts';
import type { Clock } from '../shared/clock.ts';
import { NotRunError, ProxyError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import { waitFor } from '../shared/single-flight.ts';
import type { Implementation } from '../wire/envelope.ts';
import { LineReader } from './line-reader.ts';
import { PeerConnection } from './peer-connection.ts';
import { greet } from './peer-greeting.ts';
import { RpcPeer, type Send } from './rpc-peer.ts';
import { StderrLog } from './stderr-log.ts';
import { childEnvironment, type Environment, secretsOf } from './stdio-env.ts';
import { type StdioProcess, startProcess } from './stdio-process.ts';

export interface StdioDialDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: Implementation;
  /** Our own environment, of which a child sees nine names. */
  readonly parentEnv: Environment;
}

export const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_STRAY_LINES = 1_000;

export function createStdioDial(deps: StdioDialDeps): Dial {
  return async (server, credential, signal) => {
    const { transport } = server;
    if (transport.kind !== 'stdio') throw new ProxyError('internal', 'This server is no command.');
    signal.throwIfAborted();
    const env = childEnvironment(deps.parentEnv, transport, server.credential, credential);
    const link = new StdioLink(deps, server, transport, credential);
    try {
      await link.start({ command: transport.command, args: transport.args, cwd: transport.cwd, env });
      const greeting = await link.greet(deps.client, signal);
      return new PeerConnection(link.peer, greeting, () => link.close());
    } catch (error) {
      await link.kill();
      throw error;
    }
  };
}

/** Joins one child to one peer. */
class StdioLink {
  readonly peer: RpcPeer;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #log: StderrLog;
  readonly #reader: LineReader;
  #process: StdioProcess | undefined;
  /** How the child ended, when it ended by itself. */
  #ended: string | undefined;
  #isGreeted = false;
  #strayLines = 0;

  constructor(deps: StdioDialDeps, server: UpstreamServer, transport: StdioTransport, credential: Credential) {
    const owner = credential.kind === 'none' ? '' : ownerKey(credential.owner);
    this.#clock = deps.clock;
    this.#logger = deps.logger.child({ tenantId: server.tenantId, server: server.name, owner });
    this.#log = new StderrLog(deps.clock, this.#logger, secretsOf(transport, credential));
    this.peer = new RpcPeer({ clock: deps.clock, logger: this.#logger, client: deps.client, send: this.#send });
    this.#reader = new LineReader(MAX_LINE_BYTES, {
      line: (line) => this.#line(line),
      tooLong: (ends) => this.peer.receiveTooLong(ends, MAX_LINE_BYTES),
    });
  }

  async start(command: Parameters<typeof startProcess>[0]): Promise<void> {
    const ears = {
      stdout: (chunk: Buffer) => {
        this.#reader.push(chunk);
        this.peer.flush();
      },
      stderr: (chunk: Buffer) => this.#log.push(chunk),
      ended: (how: string) => this.#onEnded(how),
    };
    this.#process = await startProcess(command, ears, this.#clock);
  }

  async greet(client: Implementation, signal: AbortSignal): ReturnType<typeof greet> {
    try {
      const greeting = await waitFor(greet(this.peer, client, signal), signal);
      this.#isGreeted = true;
      return greeting;
    } catch (error) {
      if (this.#ended === undefined || signal.aborted) throw error;
      const tail = this.#log.tail;
      throw new NotRunError(`The server's command ${this.#ended} before it was ready.`, {
        cause: tail === '' ? error : new Error(tail.slice(-300)),
      });
    }
  }

  async close(): Promise<void> {
    await this.#process?.close();
  }

  async kill(): Promise<void> {
    this.peer.close(new NotRunError('The connection to the server was not established.'));
    await this.#process?.kill();
  }

  #line(line: Buffer): void {
    if (line.length === 0) return;
    const isMessage = line.includes(0x7b) && this.peer.receive(line);
    if (!isMessage) this.#stray(line);
  }

  /** Many servers print a banner; one that prints without end is no server, or logs to the wrong stream. */
  #stray(line: Buffer): void {
    this.#log.stray(line);
    this.#strayLines += 1;
    if (this.#isGreeted || this.#strayLines < MAX_STRAY_LINES) return;
    this.peer.close(
      new ProxyError(
        'upstream_protocol',
        `The server's command wrote ${MAX_STRAY_LINES} lines to its standard output that are no MCP messages. Is it an MCP server, and does it log to standard error?`,
      ),
    );
  }

  #onEnded(how: string): void {
    this.#ended = how;
    // No news when we ended it ourselves.
    if (!this.peer.isClosed && this.#isGreeted) this.#logger.warn({ how }, 'the command of a server ended by itself');
    this.peer.close(new ProxyError('upstream_unavailable', "The server's process ended; the call may have run."));
  }

  readonly #send: Send = (text, done) => {
    const child = this.#process;
    if (child === undefined || child.unreadBytes > MAX_UNREAD_BYTES) {
      done(new NotRunError('The server does not read its input.'));
      return;
    }
    child.write(`${text}\n`, (cause) => {
      // Lines are handed over several at a time, so some of them may have been read.
      done(
        cause
          ? new ProxyError('upstream_unavailable', "The server's process closed its input; the call may have run.", {
              cause,
            })
          : undefined,
      );
    });
  };
}
