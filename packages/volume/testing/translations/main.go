// SPDX-License-Identifier: Apache-2.0

// Writes translated.json: what k8s.io/csi-translation-lib makes of the classes and volumes in given.json.
// Run it in this folder with `go run . > translated.json`, for example after a new version of the library.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	translation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

type given struct {
	Case string `json:"case"`
	// One of these three.
	Class  *storagev1.StorageClass `json:"class,omitempty"`
	Made   *v1.PersistentVolume    `json:"made,omitempty"`
	InTree *v1.PersistentVolume    `json:"inTree,omitempty"`
}

type translated struct {
	Case   string `json:"case"`
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func translate(each given) (any, error) {
	library := translation.New()
	switch {
	case each.Class != nil:
		return library.TranslateInTreeStorageClassToCSI(klog.TODO(), each.Class.Provisioner, each.Class)
	case each.Made != nil:
		return library.TranslateCSIPVToInTree(each.Made)
	default:
		return library.TranslateInTreePVToCSI(klog.TODO(), each.InTree)
	}
}

func main() {
	text, err := os.ReadFile("given.json")
	if err != nil {
		panic(err)
	}
	var cases []given
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	results := []translated{}
	for _, each := range cases {
		result, err := translate(each)
		if err != nil {
			results = append(results, translated{Case: each.Case, Error: err.Error()})
			continue
		}
		results = append(results, translated{Case: each.Case, Result: result})
	}
	output, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(output))
}
