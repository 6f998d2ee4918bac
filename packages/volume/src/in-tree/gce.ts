// SPDX-License-Identifier: Apache-2.0
/**
 * GCE persistent disks. The plugin knew a disk by its name alone; the driver wants project and zone (or region) as well,
 * so translated handles have gaps (`UNSPECIFIED`) that only the id of a node can fill.
 */
import { ok, refuse, type Result } from '../result.ts';
import { nonZero, toPartition, withCsiFsType } from './parameters.ts';
import type { InTreeProvider } from './provider.ts';
import { regionOf, betaZoneLabel, zoneDelimiter, zoneLabel } from './regions.ts';

const unspecified = 'UNSPECIFIED';
const zoneKey = 'topology.gke.io/zone';
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
  toInTree: ({ volumeHandle, volumeAttributes = {}, readOnly = false, fsType = '' }) => {
    const parts = volumeHandle.split('/');
    if (parts.length < pathParts) {
      const counts = `${parts.length}, wanted ${pathParts} components or more. `;
      return refuse(`failed to get id components.Got: ${counts}`);
    }
    const text = volumeAttributes['partition'] ?? '';
    const partition = text === '' ? ok(0) : toPartition(text, 'Failed');
    if (partition.kind === 'error') return partition;
    const pdName = parts[5] ?? '';
    if (pdName === '') return refuse(`volume handle ${volumeHandle} names no disk`);
    return ok({ source: { pdName, ...nonZero({ fsType, readOnly, partition: partition.value }) } });
  },
  identityOf: ({ pdName }) => pdName,
  storageClass: { zoneKey, zoneParameters: 'translated', toParameters: withCsiFsType },
  topology: { zoneKey, toRegion: (zones) => regionOf(zones, toRegion) },
};

function zonesOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return (labels[betaZoneLabel] || labels[zoneLabel] || '').split(zoneDelimiter);
}

function placeOf(zones: readonly string[]): Result<string> {
  const [first = ''] = zones;
  if (zones.length === 1) return ok(`zones/${first === '' ? unspecified : first}`);
  const region = regionOf(zones, toRegion);
  return region.kind === 'ok'
    ? ok(`regions/${region.value}`)
    : refuse(`failed to get region from zones: ${region.message}`);
}

/** A zone is `locale-region-letter`. */
function toRegion(zone: string): Result<string> {
  const parts = zone.split('-');
  return parts.length === 3
    ? ok(parts.slice(0, 2).join('-'))
    : refuse(`zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`);
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
  const region = regionOf([nodeZone], toRegion);
  return region.kind === 'ok'
    ? repaired(region.value)
    : refuse(`failed to get region from zone ${nodeZone}: ${region.message}`);
}

const tooFew = (parts: readonly string[]): string =>
  `wrong number of elements; got ${parts.length}, wanted ${pathParts} or more`;
