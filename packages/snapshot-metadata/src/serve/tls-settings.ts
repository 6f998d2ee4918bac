// SPDX-License-Identifier: Apache-2.0
/** The three flags about TLS, in Go's names, as the settings of OpenSSL. */
import { createSecureContext } from 'node:tls';

export interface TlsSettings {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** In OpenSSL's names, those of TLS 1.3 included. */
  readonly ciphers: string;
  readonly ecdhCurve: string;
}

export interface TlsFlags {
  readonly minVersion: string;
  readonly cipherSuites: string;
  readonly curves: string;
}

export type TlsResult =
  | { readonly kind: 'valid'; readonly settings: TlsSettings; readonly warning?: string }
  | { readonly kind: 'refused'; readonly reason: string };

const versions = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

/** HTTP/2 forbids everything else of TLS 1.2. */
const suites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
};
/** Always offered, as in Go: its list of suites has no effect on TLS 1.3. */
const newSuites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** In the order of Go's preference. */
const curves: Readonly<Record<string, string>> = {
  X25519MLKEM768: 'X25519MLKEM768',
  X25519: 'X25519',
  CurveP256: 'prime256v1',
  CurveP384: 'secp384r1',
  CurveP521: 'secp521r1',
};

export function tlsSettings(flags: TlsFlags): TlsResult {
  const { minVersion } = flags;
  if (minVersion !== '' && !(minVersion in versions)) {
    return refused(`unsupported TLS version "${minVersion}", must be one of: VersionTLS12, VersionTLS13`);
  }
  const wantedSuites = listOf(flags.cipherSuites);
  const unknownSuite = wantedSuites.find((name) => !(name in suites) && !newSuites.includes(name));
  if (unknownSuite !== undefined) return refused(`unsupported or insecure cipher suite: "${unknownSuite}"`);
  const wantedCurves = listOf(flags.curves);
  const unknownCurve = wantedCurves.find((name) => !(name in curves));
  if (unknownCurve !== undefined) {
    const known = Object.keys(curves).toSorted().join(', ');
    return refused(`unsupported curve "${unknownCurve}", must be one of: ${known}`);
  }
  const settings: TlsSettings = {
    minVersion: minVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ciphers: [...newSuites, ...chosen(suites, wantedSuites)].join(':'),
    ecdhCurve: chosen(curves, wantedCurves).join(':'),
  };
  try {
    createSecureContext(settings);
  } catch (error) {
    return refused(`this program's TLS library does not support these settings: ${String(error)}`);
  }
  const isIdle = settings.minVersion === 'TLSv1.3' && wantedSuites.length > 0;
  const warning = 'TLS 1.3+ ignores the configured cipher suites; cipher suite setting has no effect';
  return { kind: 'valid', settings, ...(isIdle && { warning }) };
}

/** A list of commas and blanks only is empty. */
function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function chosen(all: Readonly<Record<string, string>>, wanted: readonly string[]): readonly string[] {
  if (wanted.length === 0) return Object.values(all);
  return wanted.flatMap((name) => all[name] ?? []);
}

function refused(reason: string): TlsResult {
  return { kind: 'refused', reason };
}
