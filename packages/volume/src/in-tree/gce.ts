// SPDX-License-Identifier: Apache-2.0
/**
 * GCE persistent disks. The plugin knew a disk by its name alone; the driver wants project and zone (or region) as well,
 * so translated handles have gaps (`UNSPECIFIED`) that only the id of a node can fill.
 */
import { ok, refuse, type Result } from '../result.ts';
import type { InTreeProvider } from './provider.ts';

const unspecified = 'UNSPECIFIED';
const betaZoneLabel = 'failure-domain.beta.kubernetes.io/zone';
const zoneLabel = 'topology.kubernetes.io/zone';
const zoneDelimiter = '__';
/** `projects/P/zones/Z/disks/D`, `projects/P/zones/Z/instances/I`. */
const pathParts = 6;

export const gcePersistentDisk: InTreeProvider<'gcePersistentDisk'> = {
  driver: 'pd.csi.storage.gke.io',
  plugin: 'kubernetes.io/gce-pd',
  toCsi: ({ pdName, partition = 0, readOnly = false, fsType = '' }, { metadata }) => {
    const zones = zonesOf(metadata?.labels ?? {});
    const place = placeOf(zones);
    if (place.kind === 'error') return place;
    return ok({
      volumeHandle: `projects/${unspecified}/${place.value}/disks/${pdName}`,
      readOnly,
      fsType,
      volumeAttributes: { partition: partition === 0 ? '' : String(partition) },
    });
  },
  // The plugin neither supported nor refused ReadWriteMany, and attached ReadOnlyMany with ReadWriteOnce for writing; the
  // driver refuses both. Legacy volumes must stay usable.
  toAccessModes: (modes) => {
    const readOnly =
      modes.includes('ReadOnlyMany') && !modes.includes('ReadWriteOnce') && !modes.includes('ReadWriteMany');
    return [readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce'];
  },
  repairHandle,
};

function zonesOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return (labels[betaZoneLabel] || labels[zoneLabel] || '').split(zoneDelimiter);
}

function placeOf(zones: readonly string[]): Result<string> {
  const [first = ''] = zones;
  if (zones.length === 1) return ok(`zones/${first === '' ? unspecified : first}`);
  const region = regionOf(zones);
  return region.kind === 'ok'
    ? ok(`regions/${region.value}`)
    : refuse(`failed to get region from zones: ${region.message}`);
}

/** A zone is `locale-region-letter`. */
function regionOf(zones: readonly string[]): Result<string> {
  const regions = new Set<string>();
  for (const zone of zones) {
    const parts = zone.split('-');
    if (parts.length !== 3) {
      return refuse(`zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`);
    }
    regions.add(parts.slice(0, 2).join('-'));
  }
  const [region = '', ...others] = [...regions].sort();
  if (others.length === 0) return ok(region);
  const set = [region, ...others].map((name) => `${name}:{}`).join(' ');
  return refuse(`multiple or no regions gotten from zones, got: map[${set}]`);
}

function repairHandle(handle: string, nodeId: string): Result<string> {
  const parts = handle.split('/');
  if (parts.length < pathParts) return refuse(`volume handle has ${tooFew(parts)}`);
  const [, project, level, place = '', , disk] = parts;
  if (project !== unspecified) return ok(handle);
  const nodeParts = nodeId.split('/');
  if (nodeParts.length < pathParts) return refuse(`node handle has ${tooFew(nodeParts)}`);
  const [, nodeProject, , nodeZone = ''] = nodeParts;
  const repaired = (where: string): Result<string> => ok(`projects/${nodeProject}/${level}/${where}/disks/${disk}`);
  if (level === 'zones') return repaired(place === unspecified ? nodeZone : place);
  if (level !== 'regions') {
    return refuse(`expected volume handle to have zones or regions regionality value, got: ${level}`);
  }
  if (place !== unspecified) return repaired(place);
  const region = regionOf([nodeZone]);
  return region.kind === 'ok'
    ? repaired(region.value)
    : refuse(`failed to get region from zone ${nodeZone}: ${region.message}`);
}

const tooFew = (parts: readonly string[]): string =>
  `wrong number of elements; got ${parts.length}, wanted ${pathParts} or more`;
