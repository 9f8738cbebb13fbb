import { expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/load/load-config.ts';
import { findProxyProblem } from '../../../../src/config/load/proxy-variables.ts';
import { ConfigError } from '../../../../src/config/schema/config-error.ts';

test('a wrong proxy variable is named, without its value', () => {
  const text = 'HTTPS_PROXY must be a URL of http, https or socks5, such as http://proxy.example:3128';
  const environment = { HTTPS_PROXY: 'proxy:s3cret' };
  expect(findProxyProblem(environment)).toBe(text);
  expect(() => parseConfig(undefined, {}, environment)).toThrow(ConfigError);
  expect(() => parseConfig(undefined, {}, environment)).toThrow(text);
});

test('other forms of the variables are allowed', () => {
  const environment = { https_proxy: 'http://u:p@proxy:3128', HTTP_PROXY: '', NO_PROXY: 'x' };
  expect(findProxyProblem(environment)).toBeUndefined();
  expect(parseConfig(undefined, {}, environment).warnings).toEqual([]);
});
