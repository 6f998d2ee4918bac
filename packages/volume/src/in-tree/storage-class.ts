// SPDX-License-Identifier: Apache-2.0
/** Translates the StorageClass of an in-tree plugin for the CSI driver that replaced it. Pure. */
import type { StorageClass } from '@csi-sidecars/runtime';
import { ok, refuse, type Result } from '../result.ts';
import type { ClassTranslation, InTreeField, InTreeProvider } from './provider.ts';
import { betaZoneLabel, zoneLabel } from './regions.ts';

type AllowedTopologies = NonNullable<StorageClass['allowedTopologies']>;

export function translateClass(
  { driver, storageClass: rules }: Pick<InTreeProvider<InTreeField>, 'driver' | 'storageClass'>,
  storageClass: StorageClass,
): Result<StorageClass> {
  const { parameters, zones } = translateParameters(rules, storageClass.parameters ?? {});
  const { allowedTopologies: allowed = [] } = storageClass;
  if (zones !== undefined && allowed.length > 0) {
    return refuse('cannot simultaneously set allowed topologies and zone/zones parameters');
  }
  const topologies = zones === undefined ? toDriverKeys(rules, allowed) : toTerms(rules, zones);
  return ok({
    ...storageClass,
    ...(rules.names === 'driver' ? { provisioner: driver } : {}),
    parameters: { ...parameters, ...rules.added },
    ...(topologies.length === 0 ? {} : { allowedTopologies: withDriverZones(rules, topologies) }),
  });
}

interface Translated {
  readonly parameters: Readonly<Record<string, string>>;
  readonly zones: readonly string[] | undefined;
}

function translateParameters(rules: ClassTranslation, given: Readonly<Record<string, string>>): Translated {
  const parameters: Record<string, string> = {};
  let zones: readonly string[] | undefined;
  for (const [key, value] of Object.entries(given)) {
    const name = key.toLowerCase();
    if (rules.zoneParameters === 'translated' && (name === 'zone' || name === 'zones')) {
      zones = name === 'zone' ? [value] : value.split(',');
    } else {
      Object.assign(parameters, rules.toParameters?.({ key, name, value }) ?? { [key]: value });
    }
  }
  return { parameters, zones };
}

function toTerms({ zoneKey: key = '' }: ClassTranslation, values: readonly string[]): AllowedTopologies {
  return [{ matchLabelExpressions: [{ key, values }] }];
}

function toDriverKeys({ zoneKey }: ClassTranslation, allowed: AllowedTopologies): AllowedTopologies {
  if (zoneKey === undefined) return allowed;
  return allowed.map(({ matchLabelExpressions: expressions = [] }) => ({
    matchLabelExpressions: expressions.map((expression) =>
      expression.key === betaZoneLabel || expression.key === zoneLabel ? { ...expression, key: zoneKey } : expression,
    ),
  }));
}

function withDriverZones({ zoneKey, toAllowedZone }: ClassTranslation, allowed: AllowedTopologies): AllowedTopologies {
  if (toAllowedZone === undefined) return allowed;
  return allowed.map(({ matchLabelExpressions: expressions = [] }) => ({
    matchLabelExpressions: expressions.map((expression) =>
      expression.key === zoneKey ? { ...expression, values: expression.values.map(toAllowedZone) } : expression,
    ),
  }));
}
