import { isIP } from 'node:net';
import { check, type Report, type Setting, text } from './setting.ts';

/** The address of a listener. */
export function listenHost(setting: Setting) {
  return check(text({ allowed: 'an IP address or a host name', ...setting }), checkHost);
}

/** Labels of letters, digits, `-` and `_`; the last one is not a number, as that of an IPv4 address. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*(?!\d+\.?$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.?$/i;

function isHost(text: string): boolean {
  return isIP(text) !== 0 || HOST_NAME.test(text);
}

function checkHost(host: string, report: Report): void {
  if (isHost(host)) return;
  // Of a scheme that is not special, so that the name stays as it is written.
  const url = URL.parse(host.includes('://') ? host.replace(/^.*?:/, 'tcp:') : `tcp://${host}`);
  const meant = url?.hostname.replace(/^\[(.*)\]$/, '$1') ?? '';
  report(
    'must be an IP address or a host name, without a scheme and a port',
    [],
    isHost(meant) && meant !== host ? meant : undefined,
  );
}
