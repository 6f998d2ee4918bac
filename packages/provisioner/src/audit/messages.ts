// SPDX-License-Identifier: Apache-2.0
/** Texts that users see. */
export const messages = {
  missing: (handle: string): string =>
    `the CSI driver does not list volume ${handle} in two audits, one after the other`,
  unrecorded: (count: number, handles: readonly string[]): string =>
    `the CSI driver lists ${count} volumes that no PersistentVolume of this cluster names, ${handles.join(', ')}${count > handles.length ? ' and others' : ''}; another cluster may: csi-sidecars audit lists them`,
  compared: 'Compared the volumes of the driver with PersistentVolumes',
  failed: 'Comparing the volumes of the driver with PersistentVolumes failed',
} as const;
