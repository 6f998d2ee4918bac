// SPDX-License-Identifier: Apache-2.0
/** How to reach a cluster and as whom, wherever that was written down. Secrets are behind functions: dumps show none. */
import type { Endpoint } from '../connection/endpoint.ts';

export interface ClusterConfig {
  readonly endpoint: Endpoint;
  readonly tls: TlsSettings;
  /** `proxy-url` of the kubeconfig, which takes precedence over the environment. */
  readonly proxy?: URL | undefined;
  readonly user: User;
}

export interface TlsSettings {
  /** Undefined: those of the system. */
  readonly authorities?: Pem | undefined;
  readonly identity?: { readonly certificate: Pem; readonly key: Pem } | undefined;
  /** The name to verify instead of the endpoint's host. */
  readonly serverName?: string | undefined;
  readonly verify: 'server' | 'nothing';
}

export type Pem =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'inline'; readonly text: () => string };

export type User =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'header'; readonly authorization: () => string }
  | { readonly kind: 'tokenFile'; readonly path: string }
  | { readonly kind: 'plugin'; readonly plugin: ExecPlugin };

export interface ExecPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string;
  /** What to tell those whose machine lacks the command. */
  readonly installHint?: string | undefined;
  /** For a plugin that asks what cluster it is for. */
  readonly cluster?: ExecCluster | undefined;
}

/** As the plugin gets it. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: true;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly 'disable-compression'?: true;
  /** Whatever the kubeconfig says of this cluster for plugins. */
  readonly config?: unknown;
}
