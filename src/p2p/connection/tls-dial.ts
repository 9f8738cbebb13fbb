import { connect } from 'node:tls';
import { createIdentityContext, type Identity } from '../identity/identity.ts';
import type { Dial, TcpFailure } from './dial.ts';

/** Creates a dial over TCP and TLS 1.3 with the client certificate of `identity`. */
export function createTlsDial(identity: Identity): Dial {
  const secureContext = createIdentityContext(identity);
  return ({ host, port }, events) => {
    const socket = connect({
      host,
      port,
      secureContext,
      // Certificates are self-signed and nameless. The caller checks the one in `onSecure`.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    let isOver = false;
    const end = (reason: string | undefined, cause?: TcpFailure): void => {
      if (isOver) return;
      isOver = true;
      events.onEnd(reason, cause);
    };
    socket.setNoDelay(true);
    socket
      .on('connect', () => events.onConnect())
      .on('secureConnect', () => events.onSecure(socket.getPeerX509Certificate()?.raw))
      .on('data', (chunk: Buffer) => events.onData(chunk))
      .on('error', (error: SocketError) => end(describeSocketError(error), TCP_FAILURES.get(error.code)))
      .on('end', () => end(undefined))
      .on('close', () => end(undefined));
    return {
      get queuedBytes() {
        return socket.writableLength;
      },
      write: (bytes) => void socket.write(bytes),
      pause: () => void socket.pause(),
      resume: () => void socket.resume(),
      close() {
        isOver = true;
        socket.destroy();
      },
    };
  };
}

/** `reason` is the TLS alert of the other side. */
type SocketError = NodeJS.ErrnoException & { readonly reason?: string };

const TCP_FAILURES: ReadonlyMap<string | undefined, TcpFailure> = new Map([
  ['ECONNREFUSED', 'tcp_refused'],
  ['EMFILE', 'no_files'],
  ['ENFILE', 'no_files'],
]);

const SOCKET_ERRORS: ReadonlyMap<string | undefined, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['ETIMEDOUT', 'connection timed out'],
  ['EHOSTUNREACH', 'no route to the host'],
  ['ENETUNREACH', 'no route to the host'],
  ['ENOTFOUND', 'host name not found'],
  ['EAI_AGAIN', 'host name not found'],
  ['EMFILE', 'too many open files here'],
  ['ENFILE', 'too many open files here'],
]);

function describeSocketError(error: SocketError): string {
  return SOCKET_ERRORS.get(error.code) ?? error.reason ?? error.code ?? error.message;
}
