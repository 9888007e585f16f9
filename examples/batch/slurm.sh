#!/bin/sh
#SBATCH --job-name=onnx-export
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
# The part is read from SLURM_ARRAY_TASK_ID, _MIN and _COUNT. A part that was requeued continues.
exec onnx-export batch "${ZOO:-zoo}" -o "${OUT:-out}" --jobs 2 --resume -q
