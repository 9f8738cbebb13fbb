import type { ListenError } from '../../http/server/listen-error.ts';

/** Advises the operator if the service cannot listen; empty for unknown reasons. */
export function listenAdvice({ cause, settings }: Pick<ListenError, 'cause' | 'settings'>): string {
  const port = settings.port === 'server.port' ? '--port or the setting server.port' : `the setting ${settings.port}`;
  const host = settings.host === 'server.host' ? '--host or the setting server.host' : `the setting ${settings.host}`;
  switch (cause.code) {
    case 'EADDRINUSE':
      return `: another program listens on this port; take another one by ${port}, or 0 for any free one`;
    case 'EACCES':
      return `: this port needs more rights; take another one by ${port}`;
    case 'EADDRNOTAVAIL':
      return `: this machine has no such address; give another one by ${host}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `: no address of that name is found; give another one by ${host}`;
    case undefined:
    default:
      return '';
  }
}
