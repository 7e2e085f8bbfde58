"""Lines that training programs print, each with what is read from it and where its form comes from; lines that only
resemble them; and what a hostile line may cost."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.line_tokens import PATTERN, read_tokens
from paddock.logs.printed_lines import LONGEST_LINE, Latest, LineReader, find_latest, read_progress
from paddock.logs.progress import Progress

NAN = object()


def known(found: Progress | None) -> dict[str, object] | None:
    """What was read, without what was not; times and memory have a test of their own."""
    if found is None:
        return None
    numbers = {each.name: getattr(found, each.name) for each in fields(found) if each.name != "asides"}
    return {name: number for name, number in numbers.items() if number not in (None, "", {})}


LINES: list[tuple[str, str, dict[str, object]]] = [
    # PaddlePaddle's kits
    (
        "PaddleNLP: paddlenlp/trainer/trainer.py, Trainer.log",
        "[2024-03-07 11:53:09,773] [    INFO] - loss: 10.5, learning_rate: 3e-06, global_step: 10, "
        "current_memory_allocated: 12.1, interval_runtime: 5.2, interval_samples_per_second: 12.3, "
        "interval_steps_per_second: 1.5, progress_or_epoch: 0.01",
        {
            "loss": 10.5, "lr": 3e-06, "step": 10, "speed": 12.3, "unit": "samples/s",
            "others": {"progress_or_epoch": 0.01},
        },
    ),
    (
        "PaddleNLP: model_zoo, scripts without its Trainer",
        "[2024-03-07 11:53:09,773] [    INFO] - global step 10, epoch: 0, batch: 9, loss: 0.693, speed: 3.51 step/s",
        {"step": 10, "epoch": 0, "loss": 0.693, "speed": 3.51, "unit": "step/s"},
    ),
    (
        "PaddleNLP: paddlenlp/trainer/trainer.py, Trainer.evaluate",
        "[2024-03-07 11:53:09,773] [    INFO] - eval_loss: 0.43, eval_accuracy: 0.91, eval_runtime: 3.1, "
        "eval_samples_per_second: 230.1, eval_steps_per_second: 30.2, epoch: 1.0",
        {"val_loss": 0.43, "val_accuracy": 0.91, "epoch": 1},
    ),
    (
        "PaddleDetection: ppdet/engine/callbacks.py, LogPrinter",
        "[03/07 11:53:09] ppdet.engine.callbacks INFO: Epoch: [0] [ 20/100] learning_rate: 0.000400 loss_cls: 0.911 "
        "loss_iou: 0.52 loss: 2.534 eta: 1 day, 3:05:11 batch_cost: 0.4501 data_cost: 0.0003 ips: 4.4434 images/s",
        {
            "epoch": 0, "step": 20, "steps": 100, "lr": 0.0004, "loss": 2.534, "speed": 4.4434, "unit": "images/s",
            "others": {"loss_cls": 0.911, "loss_iou": 0.52},
        },
    ),
    (
        "PaddleClas: ppcls/engine/evaluation/classification.py",
        "[2022/05/18 11:53:09] ppcls INFO: [Eval][Epoch 1][Iter: 0/196]CELoss: 1.5, loss: 1.6, top1: 0.61, top5: 0.8, "
        "batch_cost: 1.2s, reader_cost: 0.5, ips: 100.1 images/sec",
        {
            "epoch": 1, "val_loss": 1.6, "val_accuracy": 0.61, "others": {"CELoss": 1.5, "top5": 0.8},
        },
    ),
    ("PaddleClas: ppcls/engine/engine.py", "[Eval][Epoch 1][Avg]loss: 0.5", {"epoch": 1, "val_loss": 0.5}),
    (
        "PaddleOCR: tools/program.py",
        "[2024/03/07 11:53:09] ppocr INFO: epoch: [1/500], global_step: 10, lr: 0.000100, acc: 0.25, norm_edit_dis: "
        "0.5, loss: 20.1, avg_reader_cost: 0.5 s, avg_batch_cost: 1.2 s, avg_samples: 64.0, ips: 53.1 samples/s, "
        "eta: 3:04:05, max_mem_reserved: 1500 MB, max_mem_allocated: 1400 MB",
        {
            "epoch": 1, "epochs": 500, "step": 10, "lr": 1e-4, "accuracy": 0.25, "loss": 20.1, "speed": 53.1,
            "unit": "samples/s", "others": {"norm_edit_dis": 0.5, "avg_samples": 64.0},
        },
    ),
    (
        "PaddleSeg: paddleseg/core/train.py",
        "2024-03-07 11:53:09 [INFO]\t[TRAIN] epoch: 1, iter: 10/1000, loss: 1.2345, lr: 0.009919, batch_cost: 0.1234, "
        "reader_cost: 0.00012, ips: 32.4149 samples/sec | ETA 00:02:02",
        {
            "epoch": 1, "step": 10, "steps": 1000, "loss": 1.2345, "lr": 0.009919, "speed": 32.4149,
            "unit": "samples/s",
        },
    ),
    (
        "PaddleSeg: paddleseg/core/val.py",
        "2024-03-07 11:53:09 [INFO]\t[EVAL] #Images: 76 mIoU: 0.5014 Acc: 0.9043 Kappa: 0.4 Dice: 0.6",
        {"val_accuracy": 0.9043, "others": {"Images": 76.0, "mIoU": 0.5014, "Kappa": 0.4, "Dice": 0.6}},
    ),
    ("PaddlePaddle's hapi: hapi/progressbar.py", "step 7/7 - loss: 0.0935 - 580ms/step",
     {"step": 7, "steps": 7, "loss": 0.0935, "speed": 1000 / 580, "unit": "it/s"}),
    (
        "PaddlePaddle's hapi: hapi/progressbar.py, a metric for each k",
        "step 938/938 [==============================] - loss: 0.0485 - acc_top1: 0.9 - acc_top2: 0.95 - 14ms/step",
        {
            "step": 938, "steps": 938, "loss": 0.0485, "accuracy": 0.9, "speed": 1000 / 14, "unit": "it/s",
            "others": {"acc_top2": 0.95},
        },
    ),
    (
        "PaddlePaddle's hapi: hapi/progressbar.py, microseconds",
        "step 51/51 [==============================] - loss: 600.1409 - 853us/step          ",
        {"step": 51, "steps": 51, "loss": 600.1409, "speed": 1e6 / 853, "unit": "it/s"},
    ),
    ("MindSpore: train/callback/_loss_monitor.py", "epoch: 1 step: 1875, loss is 0.25",
     {"epoch": 1, "step": 1875, "loss": 0.25}),
    # Transformers
    (
        "transformers: trainer_callback.py, PrinterCallback",
        "{'loss': 1.5, 'grad_norm': 2.25, 'learning_rate': 4.5e-05, 'epoch': 1.0}",
        {"loss": 1.5, "grad_norm": 2.25, "lr": 4.5e-05, "epoch": 1},
    ),
    (
        "transformers 5: trainer_callback.py, numbers as texts",
        "{'loss': '1.5', 'grad_norm': '2.25', 'learning_rate': '4.5e-05', 'epoch': '1'}",
        {"loss": 1.5, "grad_norm": 2.25, "lr": 4.5e-05, "epoch": 1},
    ),
    (
        "transformers: trainer.py, evaluate",
        "{'eval_loss': 0.5, 'eval_accuracy': 0.75, 'eval_runtime': 1.25, 'eval_samples_per_second': 800.0, "
        "'eval_steps_per_second': 100.0, 'epoch': 2.0}",
        {"val_loss": 0.5, "val_accuracy": 0.75, "epoch": 2},
    ),
    (
        "transformers: trainer_utils.py, speed_metrics",
        "{'train_runtime': 12.5, 'train_samples_per_second': 240.0, 'train_steps_per_second': 30.0,  "
        "'train_loss': 1.25, 'epoch': 3.0}",
        {"loss": 1.25, "speed": 240.0, "unit": "samples/s", "epoch": 3},
    ),
    (
        "transformers: a bar of the Trainer before its dictionary",
        " 10%|█         | 50/500 [00:10<01:30,  5.00it/s]{'loss': 1.5, 'learning_rate': 4.5e-05, 'epoch': 0.1}",
        {"step": 50, "steps": 500, "speed": 5.0, "unit": "it/s", "loss": 1.5, "lr": 4.5e-05,
         "epochs_done": 0.1},
    ),
    (
        "transformers: trainer.py, numbers of numpy 2",
        "{'eval_loss': np.float64(0.5), 'eval_f1': np.float64(0.75), 'epoch': 2.0}",
        {"val_loss": 0.5, "others": {"eval_f1": 0.75}, "epoch": 2},
    ),
    # Lightning, Keras, tqdm
    (
        "Lightning: callbacks/progress/tqdm_progress.py",
        "Epoch 1: 100%|██████████| 938/938 [00:10<00:00, 90.12it/s, v_num=0, train_loss_step=0.25, val_loss=0.5, "
        "val_acc=0.75]",
        {
            "epoch": 1, "step": 938, "steps": 938, "speed": 90.12, "unit": "it/s", "loss": 0.25, "val_loss": 0.5,
            "val_accuracy": 0.75,
        },
    ),
    (
        "Lightning: callbacks/progress/rich_progress.py",
        "Epoch 0/2  ━━━━━━━━━━━━━━━━━━━━━ 32/32 0:00:00 • 0:00:00 512.30it/s v_num: 3.000 train_loss: 0.125",
        {
            "epoch": 0, "epochs": 2, "step": 32, "steps": 32, "speed": 512.3, "unit": "it/s", "loss": 0.125,
        },
    ),
    (
        "Keras 3: utils/progbar.py, with its colours",
        "\x1b[1m45/100\x1b[0m \x1b[32m━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━━\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - "
        "accuracy: 0.9012 - loss: 0.3125",
        {"step": 45, "steps": 100, "accuracy": 0.9012, "loss": 0.3125, "speed": 200.0, "unit": "it/s"},
    ),
    (
        "Keras 3: utils/progbar.py, the end of an epoch",
        "\x1b[1m100/100\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m1s\x1b[0m 4ms/step - "
        "accuracy: 0.9 - loss: 0.3 - val_accuracy: 0.8 - val_loss: 0.4 - learning_rate: 0.0010",
        {
            "step": 100, "steps": 100, "accuracy": 0.9, "loss": 0.3, "val_accuracy": 0.8, "val_loss": 0.4, "lr": 0.001,
            "speed": 250.0, "unit": "it/s",
        },
    ),
    (
        "Keras 2: utils/generic_utils.py, with backspaces",
        " 45/100 [============>.................] - ETA: 3s - loss: 0.3000 - accuracy: 0.9000" + "\x08" * 90,
        {"step": 45, "steps": 100, "loss": 0.3, "accuracy": 0.9},
    ),
    (
        "tqdm: std.py, set_postfix",
        "train:  45%|████▌     | 45/100 [00:12<00:15,  3.60it/s, acc=0.9, loss=0.125, lr=0.001]",
        {
            "step": 45, "steps": 100, "speed": 3.6, "unit": "it/s", "accuracy": 0.9, "loss": 0.125, "lr": 0.001,
        },
    ),
    (
        "tqdm: std.py, set_description",
        "Epoch 2 loss 0.5:  45%|████▌     | 45/100 [00:12<00:15,  1.60s/it]",
        {"epoch": 2, "loss": 0.5, "step": 45, "steps": 100, "speed": 0.625, "unit": "it/s"},
    ),
    # PyTorch's examples
    (
        "pytorch/examples: mnist/main.py, test",
        "Test set: Average loss: 0.0312, Accuracy: 9900/10000 (99%)",
        {"val_loss": 0.0312, "val_accuracy": 0.99},
    ),
    (
        "pytorch/examples: word_language_model/main.py",
        "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.50 | loss  7.63 | ppl  2058.89",
        {
            "epoch": 1, "step": 200, "steps": 2983, "lr": 20.0, "speed": 80.0, "unit": "it/s", "loss": 7.63,
            "others": {"ppl": 2058.89},
        },
    ),
    (
        "pytorch/examples: word_language_model/main.py, the end of an epoch",
        "| end of epoch   1 | time: 36.25s | valid loss  5.91 | valid ppl   368.71",
        {"epoch": 1, "val_loss": 5.91, "others": {"valid ppl": 368.71}},
    ),
    (
        "pytorch/examples: imagenet/main.py, validation",
        "Test: [ 10/196]\tTime  0.300 ( 0.400)\tLoss 1.5e+00 (1.6e+00)\tAcc@1  62.50 ( 61.00)\tAcc@5  85.00 ( 84.00)",
        {"val_loss": 1.5, "val_accuracy": 62.5, "others": {"Acc@5": 85.0}},
    ),
    ("PyTorch's tutorials: beginner/blitz/cifar10_tutorial.py", "[1,  2000] loss: 2.212",
     {"epoch": 1, "step": 2000, "loss": 2.212}),
    ("PyTorch's tutorials: beginner/basics/optimization_tutorial.py", "loss: 2.303494  [   64/60000]",
     {"loss": 2.303494, "step": 64, "steps": 60000}),
    ("PyTorch's tutorials: beginner/introyt/trainingyt.py", "  batch 1000 loss: 1.6334228584",
     {"step": 1000, "loss": 1.6334228584}),
    ("PyTorch's tutorials: beginner/basics/optimization_tutorial.py, test", " Accuracy: 65.5%, Avg loss: 1.082",
     {"accuracy": 0.655, "loss": 1.082}),
    (
        "torchvision: references/detection/utils.py, MetricLogger",
        "Epoch: [0]  [ 10/100]  eta: 0:01:02  lr: 0.000090  loss: 2.3000 (2.4000)  loss_classifier: 0.8 (0.9)  "
        "time: 0.6  data: 0.01  max mem: 3105",
        {
            "epoch": 0, "step": 10, "steps": 100, "lr": 0.00009, "loss": 2.3, "others": {"loss_classifier": 0.8},
        },
    ),
    (
        "torchvision: references/classification/train.py",
        "Epoch: [3]  [ 10/625]  eta: 0:05:02  lr: 0.1  img/s: 812.5  loss: 6.5 (6.7)  acc1: 12.5 (10.0)  "
        "acc5: 25.0 (21.0)  time: 0.2  data: 0.01  max mem: 9105",
        {
            "epoch": 3, "step": 10, "steps": 625, "lr": 0.1, "speed": 812.5, "unit": "images/s", "loss": 6.5,
            "accuracy": 12.5, "others": {"acc5": 25.0},
        },
    ),
    (
        "torchvision: references/classification/train.py, evaluate",
        "Test:  [ 0/79]  eta: 0:01:02  loss: 1.5 (1.6)  acc1: 62.5 (61.0)  acc5: 85.0 (84.0)  time: 0.8  data: 0.6",
        {"val_loss": 1.5, "val_accuracy": 62.5, "others": {"acc5": 85.0}},
    ),
    (
        "timm: train.py, train_one_epoch",
        "Train: 2 [ 400/1251 ( 32%)]  Loss: 6.25 (6.5)  Time: 0.512s,  500.00/s  (0.6s,  426.00/s)  LR: 1.000e-05  "
        "Data: 0.010 (0.015)",
        {
            "epoch": 2, "step": 400, "steps": 1251, "loss": 6.25, "speed": 500.0, "lr": 1e-5,
        },
    ),
    (
        "timm: train.py, validate",
        "Test: [   0/97]  Time: 1.5 (1.5)  Loss:  0.75 (0.75)  Acc@1:  82.5 ( 82.5)  Acc@5:  96.0 ( 96.0)",
        {"val_loss": 0.75, "val_accuracy": 82.5, "others": {"Acc@5": 96.0}},
    ),
    # Large models
    (
        "torchtitan: components/metrics.py, with its colours",
        "[rank0]:[titan] 2025-03-07 11:53:09,773 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.1250  "
        "\x1b[38;2;180;60;0mgrad_norm:  1.2500  \x1b[38;2;54;234;195mmemory:  1.50GiB(5.25%)  \x1b[34mtps: 12,345  "
        "\x1b[36mtflops: 12.50  \x1b[35mmfu: 4.50%\x1b[39m",
        {
            "rank": 0, "step": 1, "loss": 8.125, "grad_norm": 1.25, "speed": 12345.0, "unit": "tokens/s",
            "others": {"tflops": 12.5, "mfu": 4.5},
        },
    ),
    (
        "torchtitan: components/validate.py",
        "[titan] 2025-03-07 11:53:09,773 - root - INFO - validate step:  10  loss:  7.5000  memory:  1.5GiB(5.25%)",
        {"step": 10, "val_loss": 7.5},
    ),
    (
        "DeepSpeed: utils/timer.py, ThroughputTimer",
        "[2023-11-07 01:55:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, "
        "RunningAvgSamplesPerSec=25.5, CurrSamplesPerSec=25.75, MemAllocated=4.32GB, MaxMemAllocated=38.49GB",
        {"epoch": 0, "step": 10, "speed": 25.5, "unit": "samples/s", "others": {"micro_step": 40.0}},
    ),
    (
        "DeepSpeedExamples: training/pipeline_parallelism, PipelineEngine of runtime/pipe/engine.py",
        "steps: 10 loss: 2.1250 iter time (s): 0.512 samples/sec: 125.0",
        {"step": 10, "loss": 2.125, "speed": 125.0, "unit": "samples/s"},
    ),
    (
        "fairseq: logging/progress_bar.py, SimpleProgressBar",
        "2021-03-07 11:53:09 | INFO | train_inner | epoch 001:     10 / 100 loss=16.125, nll_loss=16.0, ppl=65536, "
        "wps=12345.6, ups=3.21, wpb=3840, bsz=128, num_updates=10, lr=1.25e-06, gnorm=4.5, loss_scale=128, "
        "train_wall=3, gb_free=12.1, wall=15",
        {
            "epoch": 1, "step": 10, "steps": 100, "loss": 16.125, "speed": 12345.6, "unit": "words/s", "lr": 1.25e-06,
            "grad_norm": 4.5,
            "others": {
                "nll_loss": 16.0, "ppl": 65536.0, "ups": 3.21, "wpb": 3840.0, "bsz": 128.0, "loss_scale": 128.0,
            },
        },
    ),
    (
        "fairseq: logging/progress_bar.py, the end of a validation",
        "2021-03-07 11:53:09 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 11.5 | nll_loss 11.25 "
        "| ppl 2435 | wps 30000 | wpb 2000 | bsz 64 | num_updates 100",
        {
            "epoch": 1, "step": 100, "val_loss": 11.5,
            "others": {"nll_loss": 11.25, "ppl": 2435.0, "wpb": 2000.0, "bsz": 64.0},
        },
    ),
    (
        "fairseq: logging/progress_bar.py, JsonProgressBar",
        '{"epoch": 1, "update": 0.5, "loss": "16.125", "ppl": "65536", "wps": "12345.6", "num_updates": "10", '
        '"lr": "1.25e-06", "gnorm": "4.5"}',
        {
            "epoch": 1, "step": 10, "loss": 16.125, "speed": 12345.6, "unit": "words/s", "lr": 1.25e-06,
            "grad_norm": 4.5, "others": {"update": 0.5, "ppl": 65536.0},
        },
    ),
    (
        "Megatron-LM: training/training.py, training_log",
        " [2025-03-07 11:53:09] iteration       10/    1000 | consumed samples:          160 | elapsed time per "
        "iteration (ms): 512.5 | throughput per GPU (TFLOP/s/GPU): 123.4 | learning rate: 1.5E-05 | "
        "global batch size:    16 "
        "| lm loss: 1.031250E+01 | loss scale: 1.0 | grad norm: 2.5 | number of skipped iterations:   0 |",
        {
            "step": 10, "steps": 1000, "lr": 1.5e-05, "loss": 10.3125, "grad_norm": 2.5,
            "others": {
                "consumed samples": 160.0, "global batch size": 16.0, "loss scale": 1.0,
                "number of skipped iterations": 0.0,
            },
        },
    ),
    (
        "Megatron-LM: training/training.py, evaluate_and_print_results",
        " validation loss at iteration 1000 | lm loss value: 5.625000E+00 | lm loss PPL: 2.772723E+02 |",
        {"step": 1000, "val_loss": 5.625, "others": {"lm loss PPL": 277.2723}},
    ),
    ("nanoGPT: train.py", "step 250: train loss 2.1250, val loss 2.2500",
     {"step": 250, "loss": 2.125, "val_loss": 2.25}),
    (
        "ColossalAI: its examples, a bar of tqdm",
        "Epoch: 1, step: 10:  12%|█▎        | 10/80 [00:12<01:24,  1.20s/it, Loss=2.5]",
        {"epoch": 1, "step": 10, "loss": 2.5, "speed": 1 / 1.2, "unit": "it/s"},
    ),
    (
        "mmengine: runner/log_processor.py",
        "03/07 11:53:09 - mmengine - INFO - Epoch(train)  [1][ 100/1000]  lr: 1.0000e-03  eta: 1:02:03  time: 0.5  "
        "data_time: 0.01  memory: 3105  loss: 1.25  loss_cls: 0.75",
        {
            "epoch": 1, "step": 100, "steps": 1000, "lr": 1e-3, "loss": 1.25, "others": {"loss_cls": 0.75},
        },
    ),
    (
        "detectron2: utils/events.py, CommonMetricPrinter",
        "[03/07 11:53:09 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.25  loss_cls: 0.75    time: 0.3  "
        "last_time: 0.3  data_time: 0.01   lr: 1.6e-05  max_mem: 2000M",
        {"step": 19, "loss": 1.25, "lr": 1.6e-05, "others": {"loss_cls": 0.75}},
    ),
    # Trees
    (
        "XGBoost: callback.py, EvaluationMonitor",
        "[10]\ttrain-rmse:0.12500\teval-rmse:0.25000",
        {"step": 10, "others": {"train-rmse": 0.125, "eval-rmse": 0.25}},
    ),
    (
        "XGBoost: callback.py, behind the time of its logger",
        "[11:53:09] [10]\ttrain-mlogloss:0.12500\teval-mlogloss:0.25000",
        {"step": 10, "loss": 0.125, "val_loss": 0.25},
    ),
    (
        "XGBoost: sklearn.py, names of its own",
        "[0]\tvalidation_0-logloss:0.62500\tvalidation_0-auc:0.75000",
        {"step": 0, "val_loss": 0.625, "val_accuracy": 0.75},
    ),
    (
        "LightGBM: callback.py, log_evaluation",
        "[10]\ttraining's l2: 0.125\tvalid_0's l2: 0.25\tvalid_0's auc: 0.75",
        {"step": 10, "val_accuracy": 0.75, "others": {"training's l2": 0.125, "valid_0's l2": 0.25}},
    ),
    # What people print by themselves
    ("a unit that a number follows is its name", "step 5 loss 0.5 tokens/s 12000",
     {"step": 5, "loss": 0.5, "speed": 12000.0, "unit": "tokens/s"}),
    ("a unit behind a number that has a name", "step 9/20 loss 2.76 lr 1e-4 grad_norm 1.435 tokens/s 12091 eta 0:01",
     {"step": 9, "steps": 20, "loss": 2.76, "lr": 1e-4, "grad_norm": 1.435, "speed": 12091.0, "unit": "tokens/s"}),
    ("a unit behind an accuracy", "epoch 1 step 5 acc 0.93 it/s 3.4",
     {"epoch": 1, "step": 5, "accuracy": 0.93, "speed": 3.4, "unit": "it/s"}),
    ("a unit behind a name that nobody knows", "step 5 loss 0.5 entropy 1.2 steps/sec 3.5",
     {"step": 5, "loss": 0.5, "speed": 3.5, "unit": "steps/s", "others": {"entropy": 1.2}}),
    ("a unit behind a count", "step 5 samples/s 120.5 loss 0.5",
     {"step": 5, "loss": 0.5, "speed": 120.5, "unit": "samples/s"}),
    ("the time of a step", "step 5 loss 0.5 s/it 0.25", {"step": 5, "loss": 0.5, "speed": 4.0, "unit": "it/s"}),
    ("a unit of time that a number follows", "step 5 loss 0.5 ms 120", {"step": 5, "loss": 0.5}),
    ("a unit without a number of its own", "step 5 loss 0.5 it/s", {"step": 5, "loss": 0.5}),
    ("a speed without a name", "step 5 loss 0.5 3.6 it/s 120 samples",
     {"step": 5, "loss": 0.5, "speed": 3.6, "unit": "it/s"}),
    ("two speeds, the first counts", "step 5 lr 0.1 samples/s 9.5 loss 0.5 tokens/s 12,091",
     {"step": 5, "lr": 0.1, "loss": 0.5, "speed": 9.5, "unit": "samples/s"}),
    ("a part for the training and one for the evaluation", "Epoch 3 | train: loss 0.5 acc 0.8 | val: loss 0.6 acc 0.7",
     {"epoch": 3, "loss": 0.5, "accuracy": 0.8, "val_loss": 0.6, "val_accuracy": 0.7}),
    ("the evaluation first", "Epoch 3 [val] loss: 0.6 [train] loss: 0.5", {"epoch": 3, "loss": 0.5, "val_loss": 0.6}),
    ("an evaluation that is told at the end", "epoch 3 loss: 0.6 [val]", {"epoch": 3, "val_loss": 0.6}),
    ("a part of an epoch", "{'loss': 0.5, 'epoch': 0.25}", {"loss": 0.5, "epochs_done": 0.25}),
    ("all numbers of a step in one line",
     "epoch 2 step 204/3600 loss 4.02 val_loss 3.75 lr 0.0001 grad_norm 0.87 throughput 304.2 samples/s",
     {"epoch": 2, "step": 204, "steps": 3600, "loss": 4.02, "val_loss": 3.75, "lr": 0.0001, "grad_norm": 0.87,
      "speed": 304.2, "unit": "samples/s"}),
    ("Paddock: examples/elastic, whose ranks may change, so it counts samples", "sample 96, ranks 2, loss: 0.693147",
     {"step": 96, "loss": 0.693147, "others": {"ranks": 2.0}}),
    ("a sample beside a step", "step 3 sample 96 loss 0.5", {"step": 3, "loss": 0.5, "others": {"sample": 96.0}}),
    ("a reward", "step 10 reward 0.5", {"step": 10, "others": {"reward": 0.5}}),
    ("a unit that nobody knows", "epoch 1/3 loss=4.4606 2557 rows/s",
     {"epoch": 1, "epochs": 3, "loss": 4.4606, "speed": 2557.0, "unit": "rows/s"}),
    ("a number of its own", "epoch 2 loss 0.0110 world 2", {"epoch": 2, "loss": 0.011, "others": {"world": 2.0}}),
    ("a short name", "step 5 loss 0.5 grad 1.2", {"step": 5, "loss": 0.5, "grad_norm": 1.2}),
    ("a time", "epoch 1 loss 0.5 elapsed 3 s", {"epoch": 1, "loss": 0.5}),
    ("the best so far", "epoch 1 loss 0.5 acc 0.9 (best 0.92)", {"epoch": 1, "loss": 0.5, "accuracy": 0.9}),
    ("words behind it", "Epoch [10/100], Loss: 1.1248 (best so far)", {"epoch": 10, "epochs": 100, "loss": 1.1248}),
    ("words between", "Epoch 3 finished in 12.5s, train loss 0.5, saved to ckpt/3.pt", {"epoch": 3, "loss": 0.5}),
    ("a tensor", "step 3 loss: tensor(0.5000, device='cuda:0', grad_fn=<NllLossBackward0>) lr: 0.1",
     {"step": 3, "loss": 0.5, "lr": 0.1}),
    ("a rank before it", "[RANK0] step 3 loss 0.5", {"rank": 0, "step": 3, "loss": 0.5}),
    ("PyTorch's tutorials: beginner/ddp_series_multigpu, steps are those of an epoch",
     "[GPU0] Epoch 10 | Batchsize: 32 | Steps: 4 | Loss: 0.5",
     {"epoch": 10, "loss": 0.5, "others": {"Batchsize": 32.0}}),
    ("a time stamp is no metric", '{"event": "step", "step": 3, "loss": 0.5, "ts": 1769990000.5}',
     {"step": 3, "loss": 0.5}),
    ("mse", "epoch 3 mse 0.5", {"epoch": 3, "others": {"mse": 0.5}}),
    ("a number in brackets before it", "[0] epoch 1 loss 0.5", {"epoch": 1, "loss": 0.5}),
    ("torchrun's rank before it", "[default1]:step 3, loss 0.5", {"step": 3, "loss": 0.5}),
    ("numbers in parentheses", "Epoch 2/10 (loss=0.5, acc=0.75)",
     {"epoch": 2, "epochs": 10, "loss": 0.5, "accuracy": 0.75}),
    ("TensorBoard's names", "step=3 train/loss=0.5 val/loss=0.75 train/acc=0.25",
     {"step": 3, "loss": 0.5, "val_loss": 0.75, "accuracy": 0.25}),
    ("two parts and no whole", "epoch 3 d_loss: 0.5 g_loss: 0.75",
     {"epoch": 3, "others": {"d_loss": 0.5, "g_loss": 0.75}}),
    ("a name with a space", "epoch 3 contrastive loss 0.5", {"epoch": 3, "loss": 0.5}),
    ("of", "Epoch 3 of 10, loss 0.5", {"epoch": 3, "epochs": 10, "loss": 0.5}),
    ("Val Loss, and what follows", "Epoch 3 | Val Loss: 0.5 | Acc: 0.75",
     {"epoch": 3, "val_loss": 0.5, "val_accuracy": 0.75}),
    ("an evaluation alone", "Epoch 3, val_loss: 0.5", {"epoch": 3, "val_loss": 0.5}),
    ("JSON with a level more", '{"step": 3, "metrics": {"loss": 0.5, "eval_loss": 0.75}, "msg": "was saved"}',
     {"step": 3, "loss": 0.5, "val_loss": 0.75}),
    ("structlog's keys", "2026-11-22T10:00:00Z [info     ] trained   epoch=1 loss=0.5 seconds=3.5",
     {"epoch": 1, "loss": 0.5}),
    ("loguru", "2023-08-02 00:41:17.936 | INFO     | __main__:log_dist:54 - [Rank 0] Loss: 10.8766",
     {"rank": 0, "loss": 10.8766}),
    ("Chinese words", "第 3 轮 训练 loss: 0.5", {"epoch": 3, "loss": 0.5}),
    ("Chinese names", "轮次：3，训练损失：0.5，验证损失：0.75，准确率：91%",
     {"epoch": 3, "loss": 0.5, "val_loss": 0.75, "val_accuracy": 0.91}),
    ("the place before the number", "Cost after iteration 100: 0.693", {"step": 100, "loss": 0.693}),
    ("the place before the number, as people say it", "Average loss at step 100: 0.5", {"step": 100, "loss": 0.5}),
    ("how many workers there are", "epoch 1/3 | worker 2/2 | loss 0.5", {"epoch": 1, "epochs": 3, "loss": 0.5}),
    ("Keras: callbacks/model_checkpoint.py, and a line without a bar",
     " - 8s - loss: 0.2796 - acc: 0.9205 - val_loss: 0.1391 - val_acc: 0.9582",
     {"loss": 0.2796, "accuracy": 0.9205, "val_loss": 0.1391, "val_accuracy": 0.9582}),
    ("XGBoost: training.py, cv with deviations",
     "[5]\ttrain-mlogloss:0.902192+0.003245\ttest-mlogloss:0.941489+0.005930",
     {"step": 5, "loss": 0.902192, "val_loss": 0.941489}),
    ("TensorFlow: its hook of sessions", "INFO:tensorflow:loss = 0.5, step = 100 (0.512 sec)",
     {"step": 100, "loss": 0.5}),
    ("deit: main.py", '{"train_lr": 0.1, "train_loss": 2.5, "test_loss": 1.5, "test_acc1": 55.5, "epoch": 3}',
     {"epoch": 3, "loss": 2.5, "val_loss": 1.5, "val_accuracy": 55.5, "lr": 0.1}),
]  # fmt: skip

CHINESE: list[tuple[str, dict[str, object]]] = [
    ("第 1/3 轮 损失: 0.6931 准确率: 0.5120", {"epoch": 1, "epochs": 3, "loss": 0.6931, "accuracy": 0.512}),
    ("第 1/2 轮，第 5/13 步，损失: 0.6456，学习率: 0.01",
     {"epoch": 1, "epochs": 2, "step": 5, "steps": 13, "loss": 0.6456, "lr": 0.01}),
    ("epoch: 1, 训练损失=0.3 学习率=0.01", {"epoch": 1, "loss": 0.3, "lr": 0.01}),
    ("轮次 1/3, loss: 0.5", {"epoch": 1, "epochs": 3, "loss": 0.5}),
    ("第1轮 训练损失：0.5 验证损失：0.6 验证准确率：91.2%",
     {"epoch": 1, "loss": 0.5, "val_loss": 0.6, "val_accuracy": 0.912}),
    ("第1轮，第100步，loss：0.5", {"epoch": 1, "step": 100, "loss": 0.5}),
    ("迭代 100/1000 损失 0.532", {"step": 100, "steps": 1000, "loss": 0.532}),
    ("迭代次数：100，损失：0.532", {"step": 100, "loss": 0.532}),
    ("迭代 100: 训练损失 0.5, 验证损失 0.6, 耗时 12.3 秒", {"step": 100, "loss": 0.5, "val_loss": 0.6}),
    ("第 3 轮 验证集准确率：0.9123", {"epoch": 3, "val_accuracy": 0.9123}),
    ("Epoch: 1/3，损失值：0.5231，准确率：85.3%", {"epoch": 1, "epochs": 3, "loss": 0.5231, "accuracy": 0.853}),
    ("Epoch 1/10，训练集损失：0.4，训练集准确率：0.88，验证集损失：0.5，验证集准确率：0.86",
     {"epoch": 1, "epochs": 10, "loss": 0.4, "accuracy": 0.88, "val_loss": 0.5, "val_accuracy": 0.86}),
    ("【训练】epoch: 1, step: 100, 损失: 0.5", {"epoch": 1, "step": 100, "loss": 0.5}),
    ("【验证】epoch: 1, 损失: 0.6, 准确率: 0.9", {"epoch": 1, "val_loss": 0.6, "val_accuracy": 0.9}),
    ("[第 2 轮] 平均损失 = 0.42，用时：35.2s", {"epoch": 2, "loss": 0.42}),
    ("训练轮数: 5/20  当前损失: 0.3312  当前学习率: 0.0010", {"epoch": 5, "epochs": 20, "loss": 0.3312, "lr": 0.001}),
    ("第 3 个 epoch，第 200 个 batch，损失为 0.4321", {"epoch": 3, "step": 200, "loss": 0.4321}),
    ("第3轮第200批次，损失为：0.4321，精度为：0.91", {"epoch": 3, "step": 200, "loss": 0.4321, "accuracy": 0.91}),
    ("epoch=3, 批次=200, 损失=0.43, 准确率=0.9", {"epoch": 3, "step": 200, "loss": 0.43, "accuracy": 0.9}),
    ("步数：1000，损失：2.31，学习率：3e-4，速度：12.5 样本/秒",
     {"step": 1000, "loss": 2.31, "lr": 0.0003, "speed": 12.5, "unit": "samples/s"}),
    ("步骤 1000/5000 损失 2.31 吞吐量 12000 tokens/s",
     {"step": 1000, "steps": 5000, "loss": 2.31, "speed": 12000.0, "unit": "tokens/s"}),
    ("当前轮次：3/10，当前步数：100/500，损失：0.25",
     {"epoch": 3, "epochs": 10, "step": 100, "steps": 500, "loss": 0.25}),
    ("训练进度：第 3 轮 / 共 10 轮，损失：0.25", {"epoch": 3, "epochs": 10, "loss": 0.25}),
    ("第 3 轮（共 10 轮）：训练损失 0.25，测试准确率 92.5%",
     {"epoch": 3, "epochs": 10, "loss": 0.25, "val_accuracy": 0.925}),
    ("第 1 轮训练完成，平均损失：0.512，用时 12.3 秒", {"epoch": 1, "loss": 0.512}),
    ("轮数：1 | 批次：20/100 | 损失：0.5 | 准确率：88.00%",
     {"epoch": 1, "step": 20, "steps": 100, "loss": 0.5, "accuracy": 0.88}),
    ("Epoch [1/5], 批次 [100/600], 损失: 0.2312", {"epoch": 1, "epochs": 5, "step": 100, "steps": 600, "loss": 0.2312}),
    ("训练 Epoch: 2 [640/60000 (1%)]\t损失: 0.512", {"epoch": 2, "step": 640, "steps": 60000, "loss": 0.512}),
    ("测试集：平均损失：0.0312，准确率：9900/10000 (99%)", {"val_loss": 0.0312, "val_accuracy": 0.99}),
    ("[2026-03-07 11:53:09] [INFO] 第 2 轮 第 30 步 损失 0.33 剩余时间 00:12:33",
     {"epoch": 2, "step": 30, "loss": 0.33}),
    ("全局步数: 300, 损失: 1.2, 梯度范数: 0.87", {"step": 300, "loss": 1.2, "grad_norm": 0.87}),
    ("学习率：0.001，轮次：2，训练损失：0.5，训练精度：0.8，验证精度：0.75",
     {"lr": 0.001, "epoch": 2, "loss": 0.5, "accuracy": 0.8, "val_accuracy": 0.75}),
    ("epoch 1 | 步 20 | 损失 0.5", {"epoch": 1, "step": 20, "loss": 0.5}),
    ("第 1/3 轮: 100%|████| 47/47 [00:01<00:00, 40.0it/s, 损失=0.5, 准确率=0.9]",
     {"epoch": 1, "epochs": 3, "step": 47, "steps": 47, "speed": 40.0, "unit": "it/s", "loss": 0.5, "accuracy": 0.9}),
    ("训练中: 45%|███ | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]",
     {"step": 45, "steps": 100, "speed": 3.6, "unit": "it/s", "loss": 0.12}),
    ("训练第 3 轮，损失 0.5；验证损失 0.6；耗时：3分20秒", {"epoch": 3, "loss": 0.5, "val_loss": 0.6}),
    ("已完成 3/10 轮，loss = 0.5", {"epoch": 3, "epochs": 10, "loss": 0.5}),
    ("Epoch 3 训练结束，loss：0.5，acc：0.9", {"epoch": 3, "loss": 0.5, "accuracy": 0.9}),
    ("第 5 次迭代，损失：0.5", {"step": 5, "loss": 0.5}),
    ("第 100/1000 次迭代, 损失 = 0.123", {"step": 100, "steps": 1000, "loss": 0.123}),
    ("第 1 轮的平均训练损失：0.512", {"epoch": 1, "loss": 0.512}),
    ("训练步数 100，训练损失 2.5，每秒样本数 120.5", {"step": 100, "loss": 2.5, "speed": 120.5, "unit": "samples/s"}),
    ("验证结果：epoch 3，损失 0.4，准确率 0.91", {"epoch": 3, "val_loss": 0.4, "val_accuracy": 0.91}),
    ("第1轮损失0.5", {"epoch": 1, "loss": 0.5}),
    ("损失：0.5", {"loss": 0.5}),
    ("第 12 轮 奖励：35.5", {"epoch": 12, "others": {"奖励": 35.5}}),
    ("第 2 轮 损失：0.5 召回率：0.6 显存：3.5 GB", {"epoch": 2, "loss": 0.5, "others": {"召回率": 0.6}}),
    ("第 3 轮，损失：0.25，正确率：98.2％", {"epoch": 3, "loss": 0.25, "accuracy": 0.982}),
    ("2026-11-30 22:10:03,412 - 训练 - INFO - 第 4 轮｜损失＝0.25｜学习率＝0.0005",
     {"epoch": 4, "loss": 0.25, "lr": 0.0005}),
    ("{'轮次': 3, '损失': 0.5, '验证集准确率': 0.9}", {"epoch": 3, "loss": 0.5, "val_accuracy": 0.9}),
    ("第1轮/共3轮 损失:0.5", {"epoch": 1, "epochs": 3, "loss": 0.5}),
    ("训练loss：0.5, 验证loss：0.4, epoch：1", {"epoch": 1, "loss": 0.5, "val_loss": 0.4}),
    ("Step: 100, 训练损失: 0.5, 耗时: 0.1秒/步", {"step": 100, "loss": 0.5, "speed": 10.0, "unit": "it/s"}),
    ("第 10 步 loss为0.5，acc达到0.9", {"step": 10, "loss": 0.5, "accuracy": 0.9}),
    ("第 3 轮, 训练: 损失 0.5 准确率 0.8; 验证: 损失 0.6 准确率 0.7",
     {"epoch": 3, "loss": 0.5, "accuracy": 0.8, "val_loss": 0.6, "val_accuracy": 0.7}),
    ("第 10 步：总损失 2.5，分类损失 1.0，回归损失 1.5",
     {"step": 10, "loss": 2.5, "others": {"分类 loss": 1.0, "回归 loss": 1.5}}),
    ("已训练 100 步，损失 0.5", {"step": 100, "loss": 0.5}),
    ("错误率: 0.12 损失: 0.5", {"loss": 0.5, "others": {"错误率": 0.12}}),
    ("epoch 3 loss 0.5 错误率 0.12", {"epoch": 3, "loss": 0.5, "others": {"错误率": 0.12}}),
    ("epoch 2, 异常样本数 3, loss 0.4", {"epoch": 2, "loss": 0.4}),
    ("第 2 轮 损失 0.4 验证误差率 0.2 未收敛", {"epoch": 2, "loss": 0.4, "others": {"验证 误差率": 0.2}}),
]  # fmt: skip
"""What scripts print by themselves; PaddlePaddle's kits print English."""

NOTHING = [
    "loss of connection to worker 3",
    "epoch of 3 days, no loss",
    "packet loss: 3%",
    "connection loss: 3.5 seconds ago",
    "The loss was 0.5 after 3 steps",
    "we lost 3 of 10 workers at step 5",
    "TrainingArguments(lr=0.1, epochs=3, loss=0.5, logging_steps=10)",
    "{'learning_rate': 0.1, 'epochs': 10, 'loss': 'mse', 'label_smoothing': 0.1}",
    "lr=0.1 batch_size=32 epochs=10 loss_weight=0.5 loss_scale=128.0",
    "epoch: 100, lr: 0.1, loss_coef: 0.5",
    "2026-11-22 10:00:00,123 INFO loss.py:12 built",
    "Epoch 00003: val_loss did not improve from 0.51",
    "Epoch 00006: val_loss improved from 0.10777 to 0.10520, saving model to model_best_fit.h5",
    "Using cross entropy loss with label smoothing 0.1 at epoch 3",
    "step 3, loss 0,5",
    "step 3, loss 0,512",
    "Epoch 3, global step 100: 'val_loss' was not in top 3",
    "loss 12:30:05",
    "RuntimeError: step 3 loss: nan",
    "Saving checkpoint at step 100 (accumulated 3.5 GB)",
    "Downloading model.bin: step 3/10 at 3.6MB/s",
    "https://example.com/loss?epoch=3&loss=0.5",
    "pip install cost-model==1.2.3",
    "Loss function: CrossEntropyLoss(weight=0.5, ignore_index=-100)",
    "best loss: 0.5 at epoch 3",
    "0.5 loss",
    "lr: 0.1, step: 3",
    "[2026-11-22 10:00:00] accepted 3 connections from 127.0.0.1:8000",
    "Test accuracy: 0.93",
    "glossary: 0.5, epoch 3",
    "step 3 took 0.5 s, memory 3.5 GB, cost: $12",
    "a" * LONGEST_LINE + " epoch 3 loss 0.5",
    "Validation DataLoader 0: 100%|██████████| 10/10 [00:00<00:00, 512.30it/s]",
    "I think that loss: 0.5 at epoch 3 is what you meant, as it has been falling",
    "最佳准确率：0.93（第 3 轮）",
    "损失函数：交叉熵",
    "学习率: 0.1, 轮数: 10, 批大小: 32",
    "早停：验证损失连续 5 轮没有下降",
    "第 3 轮，验证损失从 0.5 降到 0.4，保存模型",
    "目标损失：0.1",
    "加载数据集，共 50000 张图片，损失权重 0.5",
    "错误：第 3 轮 损失: nan 不正常",
    "异常: 第 3 轮 损失: 0.5",
    "请注意：如果损失: 0.5 在第 3 轮没有下降，应该减小学习率",
    "最低损失 0.3 出现在第 7 轮",
    "测试准确率：0.93",
]


@pytest.mark.parametrize(("source", "line", "expected"), LINES, ids=[source for source, _, _ in LINES])
def test_what_a_program_prints_is_read(source: str, line: str, expected: dict[str, object]) -> None:
    assert known(read_progress(line)) == expected, source


@pytest.mark.parametrize(("line", "expected"), CHINESE)
def test_what_a_program_prints_in_chinese_is_read(line: str, expected: dict[str, object]) -> None:
    assert known(read_progress(line)) == expected


@pytest.mark.parametrize(
    "head", ["第 1/3 轮", "----- 第 1 轮 -----", "===== Epoch 1/9 =====", "【第 1 轮】", "开始第 1 轮训练"]
)
def test_a_line_with_an_epoch_alone_is_that_of_the_next_ones(head: str) -> None:
    reader = LineReader()
    assert reader.read(head) is None
    found = reader.read("step 3/9 loss 0.5")
    assert found is not None and (found.epoch, found.step) == (1, 3)


ASIDES = [
    ("epoch 1 step 2 loss 0.5 mem 1234 MB step_time: 0.25 s", {"mem (MB)": 1234.0, "step_time (s)": 0.25}),
    ("Epoch: [0]  [ 10/100]  eta: 0:01:02  loss: 2.3 (2.4)  time: 0.6  data: 0.01  max mem: 3105",
     {"time": 0.6, "data": 0.01, "max mem": 3105.0}),
    ("epoch: 1, iter: 10/1000, loss: 1.25, batch_cost: 0.125, ips: 32.5 samples/sec", {"batch_cost": 0.125}),
    ('{"step": 1, "loss": 0.5, "ts": 1769990000.5, "pid": 7, "memory": 3.5}', {"memory": 3.5}),
    ("Test:  [ 0/79]  loss: 1.5 (1.6)  time: 0.8  data: 0.6", {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "asides"), ASIDES)
def test_times_and_memory_are_kept_beside_the_metrics(line: str, asides: dict[str, float]) -> None:
    found = read_progress(line)
    assert found is not None and dict(found.asides) == asides
    assert not found.asides.keys() & found.others.keys()


@pytest.mark.parametrize("line", NOTHING)
def test_what_only_resembles_a_line_of_training_is_none(line: str) -> None:
    assert known(read_progress(line)) is None


def test_there_are_enough_of_both() -> None:
    assert len(LINES) >= 60 and len(CHINESE) >= 30 and len(NOTHING) >= 15


# Lines in their order


def test_what_paddlepaddles_hapi_prints_in_an_evaluation_is_no_training() -> None:
    reader = LineReader()
    printed = [
        "Epoch 1/2",
        "step 51/51 [==============================] - loss: 600.1409 - 1ms/step",
        "Eval begin...",
        "step 13/13 [==============================] - loss: 403.3546 - acc: 0.5 - 853us/step",
        "Eval samples: 102",
        "Epoch 2/2",
        "step 51/51 [==============================] - loss: 409.5 - 1ms/step",
    ]
    assert [known(reader.read(line)) for line in printed] == [
        None,
        {"epoch": 1, "epochs": 2, "step": 51, "steps": 51, "loss": 600.1409, "speed": 1000.0, "unit": "it/s"},
        None,
        {"epoch": 1, "epochs": 2, "val_loss": 403.3546, "val_accuracy": 0.5},
        None,
        None,
        {"epoch": 2, "epochs": 2, "step": 51, "steps": 51, "loss": 409.5, "speed": 1000.0, "unit": "it/s"},
    ]


def test_an_evaluation_of_hapi_ends_with_the_next_epoch_where_it_says_no_end() -> None:
    reader = LineReader()
    for line in ("Eval begin...", "step 1/1 - loss: 0.2205 - acc: 0.0402 - 13ms/step", "Epoch 1154/5000"):
        reader.read(line)
    assert known(reader.read("step 1/1 - loss: 0.1613 - 35ms/step"))["loss"] == 0.1613  # type: ignore[index]


def test_an_evaluation_is_over_where_the_steps_go_on() -> None:
    """PaddleNLP: examples/text_generation, run_gen.py, prints `Eval begin...` and no end of it."""
    reader = LineReader()
    printed = ["step 100 - loss: 2.5 - ppl: 12.1 - lr: 0.0001 - 0.512s/step", "Eval begin...", "loss: 3.5 - ppl: 33.1",
               "step 110 - loss: 2.25 - ppl: 9.5"]  # fmt: skip
    found = [known(reader.read(line)) or {} for line in printed]
    assert [(each.get("loss"), each.get("val_loss")) for each in found] == [
        (2.5, None), (None, None), (None, 3.5), (2.25, None)
    ]  # fmt: skip


def test_columns_are_read_by_their_head() -> None:
    """ultralytics: engine/trainer.py, progress_string."""
    reader = LineReader()
    assert reader.read("      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size") is None
    row = "        1/3      2.59G      1.094      1.525      1.239        215        640: 100%|██████████| 4/4 [00:01]"
    found = known(reader.read(row))
    assert found == {
        "epoch": 1, "epochs": 3,
        "others": {"box_loss": 1.094, "cls_loss": 1.525, "dfl_loss": 1.239, "Instances": 215.0, "Size": 640.0},
    }  # fmt: skip


def test_a_table_of_fastai_is_read() -> None:
    reader = LineReader()
    assert reader.read("epoch     train_loss  valid_loss  accuracy  time    ") is None
    assert known(reader.read("0         0.500000    0.750000    0.250000  00:10     ")) == {
        "epoch": 0, "loss": 0.5, "val_loss": 0.75, "accuracy": 0.25,
    }  # fmt: skip


def test_the_last_number_of_each_name_is_kept() -> None:
    printed = [
        "{'loss': 1.5, 'learning_rate': 4.5e-05, 'epoch': 1.0}",
        "{'eval_loss': 0.75, 'eval_runtime': 1.25, 'eval_samples_per_second': 800.0, 'epoch': 1.0}",
        "{'loss': 1.25, 'learning_rate': 3e-05, 'epoch': 2.0}",
        "{'eval_loss': 0.5, 'eval_runtime': 1.25, 'eval_samples_per_second': 800.0, 'epoch': 2.0}",
        "saved",
    ]
    assert known(find_latest(printed)) == {"epoch": 2, "loss": 1.25, "lr": 3e-05, "val_loss": 0.5}


def test_a_line_of_an_evaluation_leaves_the_training_where_it_stood() -> None:
    assert known(find_latest(["epoch 3 step 40/100 loss 0.5", "[Eval][Epoch 2][Avg]loss: 0.75"])) == {
        "epoch": 3, "step": 40, "steps": 100, "loss": 0.5, "val_loss": 0.75,
    }  # fmt: skip


def test_the_end_of_a_long_log_is_enough() -> None:
    assert known(find_latest([f"epoch {number} loss 0.5" for number in range(10_000)], most=10)) == {
        "epoch": 9_999,
        "loss": 0.5,
    }


# What a line may cost

PIECES = (
    "1", "1,111", "0.1", "(", ")", "tensor(", "a", "a-", "a/", "a.", "'", "loss", "loss: ", "loss=0.5 ", " ", "  ",
    "1%|", "|", "━", "=", "-", ":", "1:11", "<", "\x1b[", "\x1b[1m", "e", "+", "/", " / ", " of ", "/s", "ms/step",
    "[1,", "{", "\t", "nan",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=300).map("".join) | st.text(max_size=200))
def test_the_tokens_of_a_line_cover_it_and_are_no_more_than_its_characters(line: str) -> None:
    tokens = [token.span() for token in read_tokens(line)]
    assert all(start < end for start, end in tokens)
    assert [start for start, _ in tokens] + [len(line)] == [0] + [end for _, end in tokens]


@given(st.sampled_from(PIECES), st.sampled_from(PIECES), st.integers(1, LONGEST_LINE))
def test_a_hostile_line_can_be_read(piece: str, other: str, times: int) -> None:
    read_progress("loss " + (piece + other) * times)
    LineReader().read("epoch 1 " + piece * times + other)


def test_no_repetition_of_the_pattern_gives_back_what_it_took() -> None:
    """Possessive or bounded by a small number: a line costs what its length does, whatever it is."""
    without_classes = re.sub(r"\[(?:\\.|[^\]\\])*\]", "C", PATTERN).replace(r"\+", "P")
    assert re.findall(r"(?:\*|(?<![+*?}])\+|,\})(?!\+)", without_classes) == []


@pytest.mark.parametrize("row", ["1 0.5 1e999/5", "1e999 0.5 0.4", "1 nan 1e999", "9" * 400 + " 0.5 0.4"])
def test_a_row_of_a_table_with_a_number_without_end_is_no_error(row: str) -> None:
    latest = Latest()
    latest.feed(["epoch train_loss val", row, "2 0.25 0.3"])
    assert latest.progress is None or latest.progress.step is None or latest.progress.step >= 0


def test_a_name_that_is_half_of_a_character_is_left_out() -> None:
    found = read_progress('{"step": 1, "loss": 0.5, "\\ud800": 3}')
    assert found == Progress(step=1, loss=0.5)


def test_of_each_number_it_is_known_where_it_was_printed() -> None:
    latest = Latest()
    latest.feed(
        ["epoch 1 step 50 loss 0.7 accuracy 0.5", "[Eval][Epoch 1][Avg]loss: 0.75", "epoch 2 step 100 loss 0.5"]
    )
    assert latest.places == {"loss": (2, 100), "accuracy": (1, 50), "val_loss": (1, None)}
