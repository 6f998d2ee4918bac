// SPDX-License-Identifier: Apache-2.0
// Generated from proto/pluginregistration/v1/api.proto by "npm run generate". Do not edit.

export type InfoRequest = Readonly<Record<string, never>>;

export type InfoRequestInput = Readonly<Record<string, never>>;

export interface PluginInfo {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supported_versions: readonly string[];
}

export interface PluginInfoInput {
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly supported_versions?: readonly string[] | undefined;
}

export interface RegistrationStatus {
  readonly plugin_registered: boolean;
  readonly error: string;
}

export interface RegistrationStatusInput {
  readonly plugin_registered?: boolean | undefined;
  readonly error?: string | undefined;
}

export type RegistrationStatusResponse = Readonly<Record<string, never>>;

export type RegistrationStatusResponseInput = Readonly<Record<string, never>>;

/** Full name of every unary method: what a client sends and gets, and what a server gets and sends. */
export interface RegistrationMethods {
  readonly '/pluginregistration.Registration/GetInfo': {
    readonly request: InfoRequestInput;
    readonly response: PluginInfo;
    readonly decodedRequest: InfoRequest;
    readonly responseInput: PluginInfoInput;
  };
  readonly '/pluginregistration.Registration/NotifyRegistrationStatus': {
    readonly request: RegistrationStatusInput;
    readonly response: RegistrationStatusResponse;
    readonly decodedRequest: RegistrationStatus;
    readonly responseInput: RegistrationStatusResponseInput;
  };
}
