// SPDX-License-Identifier: Apache-2.0
/**
 * How to reach a cluster and as which user, whatever the source of the configuration. Secrets are behind functions, so dumps
 * do not show them.
 */
import type { Endpoint } from '../connection/endpoint.ts';

export interface ClusterConfig {
  readonly endpoint: Endpoint;
  readonly tls: TlsSettings;
  /** `proxy-url` of the kubeconfig, which takes precedence over the environment. */
  readonly proxy?: URL | undefined;
  readonly user: User;
  /** Of the context of a kubeconfig. Empty or undefined: none is known. */
  readonly namespace?: string | undefined;
}

export interface TlsSettings {
  /** Undefined: the authorities of the system. */
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
  /** The hint to print if the command is not installed. */
  readonly installHint?: string | undefined;
  /** Describes the cluster to a plugin that requests it. */
  readonly cluster?: ExecCluster | undefined;
}

/** Passed to the plugin as it is. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: true;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly 'disable-compression'?: true;
  /** The extension of the cluster that the kubeconfig holds for plugins. */
  readonly config?: unknown;
}
