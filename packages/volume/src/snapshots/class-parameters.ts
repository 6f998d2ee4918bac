// SPDX-License-Identifier: Apache-2.0
/** What the parameters of a VolumeSnapshotClass or VolumeGroupSnapshotClass say: secrets for us, the rest for the driver. */
import { secretTemplateOf } from '../secret-parameters.ts';
import { resolveSecret, type SecretReference, type SecretTokens } from '../secret-templates.ts';
import { ok, refuse, type Result } from '../result.ts';
import { reservedParameterPrefix, type SecretKeys, snapshotSecrets } from './names.ts';

type Parameters = Readonly<Record<string, string>>;

/** Undefined if the class configures no such secret. The secret itself need not exist. */
export function classSecretOf(
  parameters: Parameters,
  keys: SecretKeys,
  tokens: SecretTokens,
): Result<SecretReference | undefined> {
  const template = secretTemplateOf(parameters, {
    label: keys.label,
    names: [keys.name],
    namespaces: [keys.namespace],
  });
  if (template.kind === 'error') {
    return refuse(`failed to get name and namespace template from params: ${template.message}`);
  }
  return template.value === undefined ? ok(undefined) : resolveSecret(template.value, tokens);
}

const ours = new Set(Object.values(snapshotSecrets).flatMap(({ name, namespace }) => [name, namespace]));

/** The parameters that the driver gets. Refused: a key with the reserved prefix that is unknown. */
export function driverParametersOf(parameters: Parameters): Result<Parameters> {
  const kept: [string, string][] = [];
  for (const [key, value] of Object.entries(parameters)) {
    if (ours.has(key)) continue;
    if (key.startsWith(reservedParameterPrefix)) {
      return refuse(
        `found unknown parameter key ${JSON.stringify(key)} with reserved namespace ${reservedParameterPrefix}`,
      );
    }
    kept.push([key, value]);
  }
  return ok(Object.fromEntries(kept));
}
