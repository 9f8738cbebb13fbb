/** Returns the URL of a service that listens at this address of this machine. */
export function localUrl(host: string, port: number, path: string): string {
  const own: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  return `http://${own[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}${path}`;
}
